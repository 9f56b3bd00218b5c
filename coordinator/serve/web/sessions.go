package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// How long what is good.
const (
	linkLife    = 2 * time.Minute
	sessionLife = 8 * time.Hour
	maxLinks    = 256 // that nobody has used yet
	maxSessions = 128
)

// secret is what a link or a cookie carries; only its hash is remembered.
type secret [sha256.Size]byte

func hashed(text string) secret { return sha256.Sum256([]byte(text)) }

// person is who looks.
type person struct {
	id   identity.ID
	key  identity.Fingerprint
	ends time.Time // of the session, at the latest
}

// link is a way in that nobody has used yet.
type link struct {
	person
	lapses time.Time
}

// session is a browser that was let in.
type session struct {
	person
	feed *feed
}

// sessions are who may look, in the memory of this process alone.
type sessions struct {
	cfg Config

	mu    sync.Mutex
	links map[secret]link
	open  map[secret]*session
}

func newSessions(c Config) *sessions {
	return &sessions{cfg: c, links: map[secret]link{}, open: map[secret]*session{}}
}

// Link makes a way in for somebody whose certificate is good until then.
func (s *Server) Link(id identity.ID, key identity.Fingerprint, until time.Time) (*adminv1.DashboardLink, error) {
	now := time.Now()
	p := person{id: id, key: key, ends: now.Add(sessionLife)}
	if until.Before(p.ends) {
		p.ends = until
	}
	text, l := rand.Text(), link{person: p, lapses: now.Add(linkLife)}
	if err := s.sessions.keep(hashed(text), l, now); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(s.Certificate.Certificate[0])
	return &adminv1.DashboardLink{
		Url:       "https://" + s.Reached + "/login#" + text,
		ExpiresAt: timestamppb.New(l.lapses), SessionEndsAt: timestamppb.New(p.ends),
		Coordinator: s.Member, Fingerprint: hex.EncodeToString(sum[:]), Local: s.Local,
	}, nil
}

func (s *sessions) keep(k secret, l link, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, l := range s.links {
		if now.After(l.lapses) {
			delete(s.links, k)
		}
	}
	if len(s.links) >= maxLinks {
		return fmt.Errorf("make a link to the dashboard: %d are waiting to be used: try again in %s", maxLinks, linkLife)
	}
	s.links[k] = l
	return nil
}

// redeem makes a session of a link, once, and returns its cookie's secret.
func (s *sessions) redeem(text string, now time.Time) (cookie string, p person, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := hashed(text)
	l, ok := s.links[k]
	delete(s.links, k)
	if !ok || now.After(l.lapses) || now.After(l.ends) {
		return "", p, false
	}
	s.makeRoom(now)
	cookie = rand.Text() + rand.Text()
	s.open[hashed(cookie)] = &session{person: l.person, feed: newFeed(s.cfg.As(l.id, l.key), s.cfg.Log)}
	return cookie, l.person, true
}

// makeRoom ends sessions that are over, and the one that would end first when there are too many.
func (s *sessions) makeRoom(now time.Time) {
	var first *session
	var at secret
	for k, o := range s.open {
		switch {
		case now.After(o.ends):
			o.feed.end(errOver)
			delete(s.open, k)
		case first == nil || o.ends.Before(first.ends):
			first, at = o, k
		}
	}
	if len(s.open) >= maxSessions {
		first.feed.end(errOver)
		delete(s.open, at)
	}
}

// find returns the session of a cookie, if it is still good.
func (s *sessions) find(cookie string, now time.Time) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := hashed(cookie)
	o := s.open[k]
	if o == nil {
		return nil
	}
	if now.After(o.ends) || o.feed.over() != nil {
		o.feed.end(errOver)
		delete(s.open, k)
		return nil
	}
	return o
}

// drop ends the session of a cookie.
func (s *sessions) drop(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := hashed(cookie)
	if o := s.open[k]; o != nil {
		o.feed.end(errOver)
		delete(s.open, k)
	}
}

// close ends all sessions, and waits.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, o := range s.open {
		o.feed.end(context.Canceled)
		o.feed.wait()
		delete(s.open, k)
	}
}
