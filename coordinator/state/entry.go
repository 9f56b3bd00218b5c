package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rvol/coordinator/model"
)

// entryVersion is the first byte of every entry. A binary that meets another stops: it
// must not skip what it does not know.
const entryVersion = 1

// EncodeTxn renders one transaction for EncodeEntry. It refuses what Apply could not
// read back.
func EncodeTxn(t Txn) ([]byte, error) {
	for k := range t.Expect {
		if k.Kind == "" || k.Name == "" {
			return nil, fmt.Errorf("%w: %q expects key %q: it needs a kind and a name", model.ErrInvalid, t.Cause, k)
		}
	}
	b, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("%w: encode transaction %q: %w", model.ErrInvalid, t.Cause, err)
	}
	return b, nil
}

// EncodeEntry renders an entry of transactions that EncodeTxn made.
func EncodeEntry(now time.Time, txns ...[]byte) ([]byte, error) {
	at, err := now.UTC().MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode entry: %w", err)
	}
	var b bytes.Buffer
	b.WriteByte(entryVersion)
	b.WriteString(`{"time":`)
	b.Write(at)
	b.WriteString(`,"txns":[`)
	b.Write(bytes.Join(txns, []byte{','}))
	b.WriteString("]}")
	return b.Bytes(), nil
}

// DecodeEntry reads an entry. Anything it does not know is an error: a transaction is
// applied whole or not at all.
func DecodeEntry(data []byte) (Entry, error) {
	if len(data) == 0 {
		return Entry{}, errors.New("decode entry: it is empty")
	}
	if data[0] != entryVersion {
		return Entry{}, fmt.Errorf("decode entry: version %d, this binary knows %d: a newer one wrote it", data[0], entryVersion)
	}
	d := json.NewDecoder(bytes.NewReader(data[1:]))
	d.DisallowUnknownFields()
	var e Entry
	if err := d.Decode(&e); err != nil {
		return Entry{}, fmt.Errorf("decode entry: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Entry{}, errors.New("decode entry: there is more behind it")
	}
	return e, nil
}
