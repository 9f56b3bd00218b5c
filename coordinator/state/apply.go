package state

import (
	"bytes"
	"errors"
	"fmt"

	"rvol/coordinator/model"
)

// apply judges one transaction and, when nothing speaks against it, carries it out. It
// returns what it carried out; nil: nothing.
func (t *tables) apply(txn Txn) (Result, *draft) {
	var content Hash
	if txn.RequestID != "" {
		content = contentHash(txn)
		if first, ok := t.requests.Get(txn.RequestID); ok {
			return first.again(txn.RequestID, content), nil
		}
	}
	d, refusal := t.judge(txn)
	res := Result{Refusal: refusal}
	if refusal == nil {
		t.commit(d)
		res.Revision = t.index
	}
	if txn.RequestID != "" {
		t.remember(txn.RequestID, request{Content: content, Result: res})
	}
	return res, d
}

// A draft is the state as a transaction would leave it: what it changes, over tables.
type draft struct {
	*tables
	changes []change
	byKey   map[string]int // into changes
}

// change is one object before and after; nil where there is none.
type change struct {
	key           string
	object        model.Key
	before, after model.Object
	value         []byte // of after, as it was proposed
}

// after returns the object under key as the transaction would leave it.
func (d *draft) after(key string) (model.Object, bool) {
	if i, ok := d.byKey[key]; ok {
		return d.changes[i].after, d.changes[i].after != nil
	}
	return d.objects.Get(key)
}

func (d *draft) keys() []model.Key {
	keys := make([]model.Key, len(d.changes))
	for i, c := range d.changes {
		keys[i] = c.object
	}
	return keys
}

// judge says what txn would change, or which constraint refuses it.
func (t *tables) judge(txn Txn) (*draft, *model.Refusal) {
	if r := t.checkExpect(txn); r != nil {
		return nil, r
	}
	d, r := t.draft(txn)
	if r != nil {
		return nil, r
	}
	for _, check := range []func(*draft) *model.Refusal{
		checkCapacity, checkQuotas, checkUnique, checkReferences, checkSerial, checkFormed, checkTokens, checkFormat,
	} {
		if r := check(d); r != nil {
			return nil, r
		}
	}
	return d, nil
}

// draft decodes what txn puts. A removal of what is not there is no change.
func (t *tables) draft(txn Txn) (*draft, *model.Refusal) {
	n := len(txn.Put) + len(txn.Delete)
	d := &draft{tables: t, changes: make([]change, 0, n), byKey: make(map[string]int, n)}
	for _, p := range txn.Put {
		o, err := t.decodePut(p)
		if err == nil {
			err = d.add(p.Key, o, p.Value)
		}
		if err != nil {
			return nil, refuse(model.ConstraintDecode, p.Key, "%s", err)
		}
	}
	for _, k := range txn.Delete {
		if err := d.add(k, nil, nil); err != nil {
			return nil, refuse(model.ConstraintDecode, k, "%s", err)
		}
	}
	return d, nil
}

func (d *draft) add(k model.Key, after model.Object, value []byte) error {
	key := k.String()
	if _, twice := d.byKey[key]; twice {
		return errors.New("the transaction names it twice")
	}
	before, ok := d.objects.Get(key)
	if !ok {
		before = nil
		if after == nil {
			return nil
		}
	}
	d.byKey[key] = len(d.changes)
	d.changes = append(d.changes, change{key: key, object: k, before: before, after: after, value: value})
	return nil
}

// commit carries the draft out.
func (t *tables) commit(d *draft) {
	touched, quotas := newTouch(t), d.counted()
	for _, c := range d.changes {
		touched.change(c.before)
	}
	for _, c := range d.changes {
		if c.before != nil {
			t.remove(c.key, c.before)
		}
	}
	for _, c := range d.changes {
		if c.after != nil {
			t.insert(c.key, c.after, c.value)
		}
		if cluster, ok := c.after.(*model.Cluster); ok {
			t.format = max(cluster.Format, MinFormat)
		}
	}
	for _, c := range d.changes {
		touched.change(c.after)
	}
	t.quotas = quotas
	touched.mark(t.index)
}

// decodePut reads an object and makes sure that it is what its key says.
func (t *tables) decodePut(p Put) (model.Object, error) {
	if bytes.Contains(p.Value, []byte(`\u0000`)) {
		return nil, errors.New("it holds a NUL character")
	}
	if p.Key.Kind == model.KindQuota && t.format < FormatQuotas {
		return nil, fmt.Errorf("the state's format is %d, in which there are no quotas", t.format)
	}
	o, err := t.writing.decoder.Decode(p.Key.Kind, p.Value, t.index)
	if err != nil {
		return nil, err
	}
	if o.Key() != p.Key || p.Key.Name == "" {
		return nil, fmt.Errorf("the object calls itself %s", o.Key())
	}
	if q, ok := o.(*model.Quota); ok {
		return o, checkQuota(q)
	}
	return o, checkForm(o)
}

// checkForm refuses objects whose name does not say what they are about, and numbers
// that sums could not hold.
func checkForm(o model.Object) error {
	name, want := o.Info().Name, o.Info().Name
	switch o := o.(type) {
	case *model.Replica:
		want = model.ReplicaName(o.Volume, o.ID)
	case *model.Attachment:
		want = model.AttachmentName(o.Volume, o.Node)
	case *model.Capacity:
		want = o.Pool.String()
	case *model.LVG:
		want = model.LVGName(o.Node, o.VG)
	case *model.Cluster:
		want = model.ClusterName
	case *model.Reservation:
		const most = 2 * model.MaxSize // a device and its metadata fit well
		if min(o.Granted, o.Pending, o.Observed) < 0 || o.Charge() > most {
			return fmt.Errorf("granted %d, pending %d, observed %d bytes: each must be 0 to %d", o.Granted, o.Pending, o.Observed, int64(most))
		}
	}
	if name != want {
		return fmt.Errorf("its name must be %q, from what it holds", want)
	}
	return nil
}

// refuse makes the refusal of an object.
func refuse(constraint string, k model.Key, format string, args ...any) *model.Refusal {
	return &model.Refusal{Constraint: constraint, Object: k.String(), Reason: fmt.Sprintf(format, args...)}
}
