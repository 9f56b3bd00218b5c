package elffix

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	newestMinor = 36          // the glibc 2.x that a lab's host has at least
	prefix      = "__isoc23_" // of the twins
	oldest      = "GLIBC_2.2.5"
	stand       = "GLIBC_2.34" // what a requirement that is lifted becomes

	symSize   = 24 // of an Elf64_Sym
	entrySize = 16 // of an Elf64_Verneed, and of an Elf64_Vernaux
	indexMask = 0x7fff
)

// Fix returns a copy of the program with its needs of glibc newer than 2.36 lifted, and the symbols it renamed. A program without such needs
// comes back as it is. It is an error when a need is more than a second name.
func Fix(program []byte) (fixed []byte, renamed []string, err error) {
	p, err := open(slices.Clone(program))
	if err != nil {
		return nil, nil, fmt.Errorf("read the program: %w", err)
	}
	tooNew := map[uint16]bool{}
	for _, n := range p.needs {
		if newer(n.name) {
			tooNew[n.index] = true
		}
	}
	if len(tooNew) == 0 {
		return program, nil, nil
	}
	base, ok1 := p.need(oldest)
	instead, ok2 := p.need(stand)
	if !ok1 || !ok2 {
		return nil, nil, fmt.Errorf("lift the need of a newer glibc: the program needs neither or only one of %s and %s", oldest, stand)
	}
	if renamed, err = p.rename(tooNew, base.index); err != nil {
		return nil, nil, err
	}
	for _, n := range p.needs {
		if tooNew[n.index] {
			copy(p.data[n.at:n.at+4], p.data[instead.at:instead.at+4])       // hash
			copy(p.data[n.at+8:n.at+12], p.data[instead.at+8:instead.at+12]) // name
		}
	}
	return p.data, renamed, nil
}

func newer(version string) bool {
	minor, ok := strings.CutPrefix(version, "GLIBC_2.")
	if !ok {
		return false
	}
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	return err == nil && n > newestMinor
}

// program is what of an ELF file concerns versions of symbols. Offsets are those of the file.
type program struct {
	data                    []byte
	strings, symbols, versy []byte // sections, as parts of data
	needs                   []need
}

// need is one version that the program asks of a library.
type need struct {
	name  string
	index uint16 // as symbols refer to it
	at    int    // offset of its entry
}

func open(data []byte) (*program, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, errors.New("not a 64-bit little-endian one")
	}
	p := &program{data: data}
	need := f.SectionByType(elf.SHT_GNU_VERNEED)
	if need == nil {
		return p, nil
	}
	syms := f.SectionByType(elf.SHT_DYNSYM)
	vers := f.SectionByType(elf.SHT_GNU_VERSYM)
	if syms == nil || vers == nil || int(syms.Link) >= len(f.Sections) {
		return nil, errors.New("it has versions but no dynamic symbols")
	}
	for _, s := range []struct {
		to *[]byte
		of *elf.Section
	}{{&p.symbols, syms}, {&p.versy, vers}, {&p.strings, f.Sections[syms.Link]}} {
		if *s.to, err = part(data, s.of); err != nil {
			return nil, err
		}
	}
	return p, p.readNeeds(need)
}

func part(data []byte, s *elf.Section) ([]byte, error) {
	if s.Offset > uint64(len(data)) || s.FileSize > uint64(len(data))-s.Offset {
		return nil, fmt.Errorf("section %s reaches past the end of the file", s.Name)
	}
	return data[s.Offset : s.Offset+s.FileSize], nil
}

// readNeeds walks the list of libraries (Elf64_Verneed) and, of each, the list of versions (Elf64_Vernaux).
func (p *program) readNeeds(s *elf.Section) error {
	if _, err := part(p.data, s); err != nil {
		return err
	}
	return p.walk(int(s.Offset), int(s.Info), func(library int) error {
		versions := int(binary.LittleEndian.Uint16(p.data[library+2:]))
		first := library + int(binary.LittleEndian.Uint32(p.data[library+8:]))
		return p.walk(first, versions, func(at int) error {
			name, err := p.text(binary.LittleEndian.Uint32(p.data[at+8:]))
			p.needs = append(p.needs, need{name: name, index: binary.LittleEndian.Uint16(p.data[at+6:]) & indexMask, at: at})
			return err
		})
	})
}

// walk visits at most n entries of a list; each has the distance to the next, 0 in the last.
func (p *program) walk(at, n int, visit func(at int) error) error {
	for range n {
		if at < 0 || at+entrySize > len(p.data) {
			return errors.New("a needed version lies past the end of the file")
		}
		if err := visit(at); err != nil {
			return err
		}
		next := int(binary.LittleEndian.Uint32(p.data[at+12:]))
		if next == 0 {
			break
		}
		at += next
	}
	return nil
}

func (p *program) text(at uint32) (string, error) {
	if uint64(at) >= uint64(len(p.strings)) {
		return "", errors.New("a name lies past the end of the strings")
	}
	s, _, found := bytes.Cut(p.strings[at:], []byte{0})
	if !found {
		return "", errors.New("a name has no end")
	}
	return string(s), nil
}

func (p *program) need(version string) (need, bool) {
	i := slices.IndexFunc(p.needs, func(n need) bool { return n.name == version })
	if i < 0 {
		return need{}, false
	}
	return p.needs[i], true
}

// rename gives every symbol of a version in tooNew its older name, and the version base.
func (p *program) rename(tooNew map[uint16]bool, base uint16) ([]string, error) {
	le := binary.LittleEndian
	var renamed []string
	for i := 0; (i+1)*symSize <= len(p.symbols) && (i+1)*2 <= len(p.versy); i++ {
		if !tooNew[le.Uint16(p.versy[2*i:])&indexMask] {
			continue
		}
		at := le.Uint32(p.symbols[symSize*i:])
		name, err := p.text(at)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(name, prefix) {
			return nil, fmt.Errorf("lift the need of a newer glibc: %s has no older name", name)
		}
		le.PutUint32(p.symbols[symSize*i:], at+uint32(len(prefix)))
		le.PutUint16(p.versy[2*i:], base)
		renamed = append(renamed, strings.TrimPrefix(name, prefix))
	}
	return renamed, nil
}
