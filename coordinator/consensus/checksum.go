package consensus

import (
	"encoding/binary"
	"errors"
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
		return errors.New("its checksum is missing")
	}
	stored, data := binary.BigEndian.Uint32(l.Data), l.Data[checksumSize:]
	if sum := checksum(l, data); sum != stored || l.Index != index {
		return fmt.Errorf("its checksum is %08x, that of its data %08x", stored, sum)
	}
	if l.Data = data; len(data) == 0 {
		l.Data = nil
	}
	return nil
}

// sealValue puts a checksum of key and value in front of the value.
func sealValue(key, value []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, valueChecksum(key, value))
	return append(b, value...)
}

// unsealValue proves that b was sealed for key and returns the value.
func unsealValue(key, b []byte) ([]byte, error) {
	if len(b) < checksumSize || binary.BigEndian.Uint32(b) != valueChecksum(key, b[checksumSize:]) {
		return nil, fmt.Errorf("%s: its checksum is wrong", key)
	}
	return b[checksumSize:], nil
}

func valueChecksum(key, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, table), table, value)
}
