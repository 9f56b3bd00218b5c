package scheduling

// search looks for a place of the whole layout.
func (r *run) search(unplaced []int) *Search { return nil }
