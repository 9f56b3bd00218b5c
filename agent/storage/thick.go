package storage

// NewThick returns a backend of linear logical volumes in the group of c.
func NewThick(c Config) Backend {
	c.Pool, c.PoolUUID = "", ""
	return &volumes{Config: c, create: c.Tool.LVCreate, wipes: true}
}
