package cases

// A testCase is one line of input.
type testCase struct {
	Name  string `json:"name"`
	Input *input `json:"input"`
}

type input struct {
	Topology     string `json:"topology"`
	FTT          int    `json:"ftt"`
	GMDR         int    `json:"gmdr"`
	VolumeAccess string `json:"volume_access"`
	PoolType     string `json:"pool_type"`
	SizeBytes    int64  `json:"size_bytes"`

	VolumeMissing        bool `json:"volume_missing"`
	ConfigurationMissing bool `json:"configuration_missing"`
	PoolMissing          bool `json:"pool_missing"`

	Nodes    []node    `json:"nodes"`
	Replicas []replica `json:"replicas"`
	AttachTo []string  `json:"attach_to"`
	Scores   *[]score  `json:"scores"` // absent: scores come from the LVGs' capacity
}

type node struct {
	Name          string `json:"name"`
	Zone          string `json:"zone"`
	Ready         bool   `json:"ready"`
	AgentReady    bool   `json:"agent_ready"`
	Unschedulable bool   `json:"unschedulable"`
	LVGs          []lvg  `json:"lvgs"`
}

type lvg struct {
	Name          string `json:"name"`
	ThinPool      string `json:"thin_pool"`
	Ready         bool   `json:"ready"`
	Unschedulable bool   `json:"unschedulable"`

	TotalBytes       int64 `json:"total_bytes"`
	FreeBytes        int64 `json:"free_bytes"`
	AllocatedBytes   int64 `json:"allocated_bytes"`
	UnaccountedBytes int64 `json:"unaccounted_bytes"`
	ReservedBytes    int64 `json:"reserved_bytes"`
}

type replica struct {
	ID               int    `json:"id"`
	Type             string `json:"type"`
	Node             string `json:"node"`
	LVG              string `json:"lvg"`
	ThinPool         string `json:"thin_pool"`
	Deleting         bool   `json:"deleting"`
	CreatedAt        *int64 `json:"created_at"` // absent: the id
	HasScheduledTrue bool   `json:"has_scheduled_true"`
}

type score struct {
	LVG      string `json:"lvg"`
	ThinPool string `json:"thin_pool"`
	Score    int64  `json:"score"`
}

// A result is one line of output.
type result struct {
	Name     string    `json:"name"`
	Replicas []outcome `json:"replicas"`
}

type outcome struct {
	ID        int    `json:"id"`
	Node      string `json:"node"`
	LVG       string `json:"lvg"`
	ThinPool  string `json:"thin_pool"`
	Scheduled string `json:"scheduled"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}
