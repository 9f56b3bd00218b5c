package elffix_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/cmd/internal/lab/uml/elffix"
)

// symbol is a function the program takes from libc.
type symbol struct{ name, version string }

// program builds an ELF file that is nothing but its dynamic symbols and their versions.
func program(symbols ...symbol) []byte {
	le := binary.LittleEndian
	strs := []byte{0}
	text := func(s string) uint32 {
		at := len(strs)
		strs = append(append(strs, s...), 0)
		return uint32(at)
	}
	var versions []string
	for _, s := range symbols {
		if !slices.Contains(versions, s.version) {
			versions = append(versions, s.version)
		}
	}
	syms, versym := make([]byte, 24), make([]byte, 2)
	for _, s := range symbols {
		syms = le.AppendUint32(syms, text(s.name))
		syms = append(syms, 0x12, 0)
		syms = append(syms, make([]byte, 18)...)
		versym = le.AppendUint16(versym, uint16(slices.Index(versions, s.version)+2))
	}
	need := le.AppendUint16(nil, 1)
	need = le.AppendUint16(need, uint16(len(versions)))
	need = le.AppendUint32(need, text("libc.so.6"))
	need = le.AppendUint32(need, 16)
	need = le.AppendUint32(need, 0)
	for i, v := range versions {
		need = le.AppendUint32(need, uint32(0x1000+i)) // hash
		need = le.AppendUint16(need, 0)
		need = le.AppendUint16(need, uint16(i+2))
		need = le.AppendUint32(need, text(v))
		next := uint32(16)
		if i == len(versions)-1 {
			next = 0
		}
		need = le.AppendUint32(need, next)
	}
	return file(strs, syms, versym, need)
}

func file(strs, syms, versym, need []byte) []byte {
	le := binary.LittleEndian
	sections := []elf.Section64{{}}
	body := []byte{}
	add := func(t elf.SectionType, b []byte, link, info uint32, entsize uint64) {
		sections = append(sections, elf.Section64{
			Type: uint32(t), Off: uint64(64 + len(body)), Size: uint64(len(b)), Link: link, Info: info, Entsize: entsize,
		})
		body = append(body, b...)
	}
	add(elf.SHT_STRTAB, strs, 0, 0, 0)
	add(elf.SHT_DYNSYM, syms, 1, 1, 24)
	add(elf.SHT_GNU_VERSYM, versym, 2, 0, 2)
	add(elf.SHT_GNU_VERNEED, need, 1, 1, 0)
	h := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Shoff: uint64(64 + len(body)), Ehsize: 64,
		Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 1,
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	var out bytes.Buffer
	binary.Write(&out, le, h) // a buffer
	out.Write(body)
	binary.Write(&out, le, sections) // a buffer
	return out.Bytes()
}

// needs lists what a program asks of libc.
func needs(t *testing.T, program []byte) []symbol {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var out []symbol
	for _, s := range all {
		out = append(out, symbol{s.Name, s.Version})
	}
	return out
}

func TestTwinsOfC23GetTheirOldNames(t *testing.T) {
	before := program(symbol{"read", "GLIBC_2.2.5"}, symbol{"__isoc23_strtol", "GLIBC_2.38"},
		symbol{"pthread_create", "GLIBC_2.34"}, symbol{"__isoc23_strtoul", "GLIBC_2.38"})
	kept := slices.Clone(before)
	after, renamed, err := elffix.Fix(before)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"strtol", "strtoul"}, renamed); diff != "" {
		t.Error(diff)
	}
	want := []symbol{{"read", "GLIBC_2.2.5"}, {"strtol", "GLIBC_2.2.5"}, {"pthread_create", "GLIBC_2.34"}, {"strtoul", "GLIBC_2.2.5"}}
	if diff := cmp.Diff(want, needs(t, after), cmp.AllowUnexported(symbol{})); diff != "" {
		t.Error(diff)
	}
	f, err := elf.NewFile(bytes.NewReader(after))
	if err != nil {
		t.Fatal(err)
	}
	libs, err := f.DynamicVersionNeeds()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range libs[0].Needs {
		if dep.Dep == "GLIBC_2.38" {
			t.Error("GLIBC_2.38 is still needed")
		}
	}
	if !bytes.Equal(before, kept) {
		t.Error("the program that was given has changed")
	}
	if again, renamed, err := elffix.Fix(after); err != nil || renamed != nil || !bytes.Equal(again, after) {
		t.Errorf("a fixed program is not left as it is: %v %v", renamed, err)
	}
}

func TestWhatCannotBeFixedIsNamed(t *testing.T) {
	for _, c := range []struct {
		name    string
		program []byte
		want    string
	}{
		{"a function without an older name", program(symbol{"read", "GLIBC_2.2.5"}, symbol{"x", "GLIBC_2.34"}, symbol{"strlcpy", "GLIBC_2.38"}), "strlcpy has no older name"},
		{"no older version to point at", program(symbol{"__isoc23_strtol", "GLIBC_2.38"}), "needs neither or only one of"},
		{"not a program", []byte("#!/bin/sh\n"), "read the program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := elffix.Fix(c.program); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, wanted %s", err, c.want)
			}
		})
	}
}

func TestAProgramWithoutNewNeedsIsLeftAsItIs(t *testing.T) {
	p := program(symbol{"read", "GLIBC_2.2.5"}, symbol{"x", "GLIBC_2.36"}, symbol{"y", "OTHER_1.0"})
	if got, renamed, err := elffix.Fix(p); err != nil || renamed != nil || !bytes.Equal(got, p) {
		t.Error(renamed, err)
	}
}

func FuzzFixTakesAnyFile(f *testing.F) {
	f.Add(program(symbol{"read", "GLIBC_2.2.5"}, symbol{"__isoc23_strtol", "GLIBC_2.38"}, symbol{"y", "GLIBC_2.34"}))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _, _ = elffix.Fix(b) }) // it must not panic
}
