package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"rvol/proto/identity"
)

// PathVariable names the environment variable that says where the file is.
const PathVariable = "RVOL_CONFIG"

// Config is the file's content. CA, Cert and Key are PEM texts or paths to files that hold them.
type Config struct {
	Cluster   string   `yaml:"cluster"`
	Endpoints []string `yaml:"endpoints"` // host:port of coordinators
	CA        string   `yaml:"ca"`
	Cert      string   `yaml:"cert"`
	Key       string   `yaml:"key"`

	dir string // where relative paths begin
}

// String names the cluster and withholds the key.
func (c Config) String() string { return fmt.Sprintf("cluster %s at %v", c.Cluster, c.Endpoints) }

// GoString is String, for the sake of the key.
func (c Config) GoString() string { return c.String() }

// Path is the file that RVOL_CONFIG names, or else rvol/config.yaml in the user's configuration directory.
func Path() (string, error) {
	if path := os.Getenv(PathVariable); path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration: %w: set %s", err, PathVariable)
	}
	return filepath.Join(dir, "rvol", "config.yaml"), nil
}

// Load reads and checks a file. Unknown keys are errors that name their line.
func Load(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("load configuration: %w", err)
	}
	c := Config{dir: filepath.Dir(path)}
	if err := decode(text, &c); err != nil {
		return Config{}, fmt.Errorf("load %s: %w", path, err)
	}
	if isPEM(c.Key) {
		if _, err := identity.ReadPrivateFile(path); err != nil {
			return Config{}, fmt.Errorf("load configuration: %w", err)
		}
	}
	return c, nil
}

// Save writes the file, readable by its owner alone, and makes its directory.
func (c Config) Save(path string) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("save configuration: %w", err)
	}
	return identity.WriteFile(path, text)
}

// Credentials reads what CA, Cert and Key stand for, and checks that they belong together and to the cluster.
func (c Config) Credentials() (*identity.Credentials, error) {
	caText, err := c.read("ca", c.CA, os.ReadFile)
	if err != nil {
		return nil, err
	}
	roots, err := identity.ParseRoots(caText)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	certText, err := c.read("cert", c.Cert, os.ReadFile)
	if err != nil {
		return nil, err
	}
	certs, err := identity.ParseCertificates(certText)
	if err != nil {
		return nil, fmt.Errorf("cert: %w", err)
	}
	keyText, err := c.read("key", c.Key, identity.ReadPrivateFile)
	if err != nil {
		return nil, err
	}
	key, err := identity.ParseKey(keyText)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	creds, err := identity.NewCredentials(key, certs[0], roots)
	if err != nil {
		return nil, fmt.Errorf("cert: %w", err)
	}
	if creds.ID.Cluster != c.Cluster {
		return nil, fmt.Errorf("cert: it is %s, and the configuration is for cluster %s", creds.ID, c.Cluster)
	}
	return creds, nil
}

func (c Config) read(what, value string, file func(string) ([]byte, error)) ([]byte, error) {
	if isPEM(value) {
		return []byte(value), nil
	}
	if !filepath.IsAbs(value) {
		value = filepath.Join(c.dir, value)
	}
	text, err := file(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}

func (c Config) check() error {
	if c.Cluster == "" {
		return errors.New("cluster is missing")
	}
	if len(c.Endpoints) == 0 {
		return errors.New("endpoints is missing: name at least one coordinator as host:port")
	}
	for _, e := range c.Endpoints {
		if err := checkEndpoint(e); err != nil {
			return err
		}
	}
	for _, f := range []struct{ name, value string }{{"ca", c.CA}, {"cert", c.Cert}, {"key", c.Key}} {
		if f.value == "" {
			return fmt.Errorf("%s is missing: want a path or PEM text", f.name)
		}
	}
	return nil
}

func checkEndpoint(endpoint string) error {
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return fmt.Errorf("endpoint %q: want host:port", endpoint)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
		return fmt.Errorf("endpoint %q: want host:port with a port from 1 to 65535", endpoint)
	}
	return nil
}

func decode(text []byte, c *Config) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	} else if err != nil {
		return plain(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("the file holds more than one document")
	}
	return c.check()
}

// plain says what the YAML package says of a file's fields without speaking of Go types.
func plain(err error) error {
	typeErr, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	text := strings.Join(typeErr.Errors, "; ")
	return errors.New(strings.ReplaceAll(text, " not found in type clientconfig.Config", " is not a key of this file"))
}

func isPEM(value string) bool { return strings.HasPrefix(strings.TrimSpace(value), "-----BEGIN ") }
