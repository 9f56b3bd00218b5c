package drbd

// Internal metadata lies at the end of a backing disk: bitmap, activity log,
// superblock. One bitmap bit stands for a block, and every peer has a bitmap.
const (
	sectorSize      = 512
	blockSize       = 4096
	superblockSize  = 4096
	activityLogSize = 32 * 1024 // one stripe of eight blocks
	wordBits        = 64        // bitmaps are made of whole words
)

// BackingSize is the number of bytes that a backing disk needs, so that a
// device on it with internal metadata for so many peers holds size bytes.
// DRBD 8.4 has one peer. Both are multiples of 4 KiB.
func BackingSize(size int64, peers int) int64 {
	size = alignUp(size, blockSize)
	backing := size + metadataSize(size, peers)
	for UsableSize(backing, peers) < size {
		backing += blockSize
	}
	return backing
}

// UsableSize is the number of bytes that a device holds on a backing disk of
// so many bytes, with internal metadata for so many peers; 0 when the disk
// is too small.
func UsableSize(backing int64, peers int) int64 {
	return max(0, backing&^(blockSize-1)-metadataSize(backing, peers))
}

// metadataSize is computed from the whole backing disk, as drbdmeta does.
func metadataSize(backing int64, peers int) int64 {
	bits := alignUp(alignUp(backing, blockSize)/blockSize, wordBits)
	bitmap := alignUp(bits/8*int64(peers), blockSize)
	return bitmap + activityLogSize + superblockSize
}

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }
