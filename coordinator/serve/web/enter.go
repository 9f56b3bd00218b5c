package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	adminv1 "rvol/proto/admin/v1"
)

// cookieName differs between coordinators: browsers send a cookie to every port of a host.
func (s *Server) cookieName() string { return "__Host-rvol-" + s.Member }

func (s *Server) cookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: value, Path: "/", MaxAge: age,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// enter makes a session of a link's secret.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Secret string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&asked); err != nil {
		refuse(w, http.StatusBadRequest, "want {\"secret\": TEXT}")
		return
	}
	now := time.Now()
	cookie, p, ok := s.sessions.redeem(asked.Secret, now)
	if !ok {
		refuse(w, http.StatusForbidden, "this link has been used, or is too old: make another with `rvol dashboard`")
		return
	}
	http.SetCookie(w, s.cookie(cookie, int(p.ends.Sub(now).Seconds())))
	w.WriteHeader(http.StatusNoContent)
	s.Log.InfoContext(r.Context(), "a browser was let in", "cause", string(p.id.Role)+"/"+p.id.Name)
}

// within lets only those through who have a session.
func (s *Server) within(next func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie(s.cookieName())
		if err == nil {
			if o := s.sessions.find(c.Value, time.Now()); o != nil {
				next(w, r, o)
				return
			}
			http.SetCookie(w, s.cookie("", -1))
		}
		refuse(w, http.StatusUnauthorized, "nobody is signed in here: `rvol dashboard` prints a link that lets you in")
	}
}

// leave ends the session.
func (s *Server) leave(w http.ResponseWriter, r *http.Request, _ *session) {
	if c, err := r.Cookie(s.cookieName()); err == nil {
		s.sessions.drop(c.Value)
	}
	http.SetCookie(w, s.cookie("", -1))
	w.WriteHeader(http.StatusNoContent)
}

// about tells who looks, and until when.
func (s *Server) about(w http.ResponseWriter, r *http.Request, o *session) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	_, err := adminv1.NewClusterClient(o.feed.conn).Status(ctx, &adminv1.ClusterStatusRequest{Stale: true})
	if lapsed(err) {
		o.feed.end(err)
		refuse(w, http.StatusUnauthorized, "your certificate is no longer good for this cluster")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // who asked may have gone
		"name": o.id.Name, "role": o.id.Role, "cluster": o.id.Cluster, "coordinator": s.Member, "ends": o.ends.UTC(),
	})
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": why}) // who asked may have gone
}
