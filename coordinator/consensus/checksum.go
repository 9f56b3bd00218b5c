package consensus

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

const checksumSize = 4 // bytes, in front of the data of every stored entry

// checksum is the CRC32C of everything in an entry that matters to agreement.
func checksum(l *raft.Log, data []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	b := binary.BigEndian.AppendUint64(nil, l.Index)
	b = binary.BigEndian.AppendUint64(b, l.Term)
	b = append(b, byte(l.Type))
	b = binary.BigEndian.AppendUint64(b, uint64(len(data)))
	sum := crc32.Update(crc32.Checksum(b, table), table, data)
	return crc32.Update(sum, table, l.Extensions)
}

// seal returns a copy of l whose data carries its checksum.
func seal(l *raft.Log) *raft.Log {
	sealed := *l
	sealed.Data = make([]byte, checksumSize, checksumSize+len(l.Data))
	binary.BigEndian.PutUint32(sealed.Data, checksum(l, l.Data))
	sealed.Data = append(sealed.Data, l.Data...)
	return &sealed
}

// unseal proves that l, read at index, is what was sealed, and takes the checksum off.
func unseal(index uint64, l *raft.Log) error {
	if len(l.Data) < checksumSize {
		return fmt.Errorf("entry %d has lost its checksum: the file is damaged", index)
	}
	stored, data := binary.BigEndian.Uint32(l.Data), l.Data[checksumSize:]
	if sum := checksum(l, data); sum != stored || l.Index != index {
		return fmt.Errorf("entry %d has checksum %08x, its data %08x: the file is damaged", index, stored, sum)
	}
	if l.Data = data; len(data) == 0 {
		l.Data = nil
	}
	return nil
}
