// Exchanges the secret of a link for a session. The secret stands behind #, and leaves the address at once.
const says = document.getElementById("says");

function refused(why) {
  document.getElementById("title").textContent = "Not signed in";
  says.textContent = why;
}

async function enter() {
  const secret = location.hash.slice(1);
  history.replaceState(null, "", "/login");
  if (!secret) return refused("There is no link here.");
  const answer = await fetch("/session", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ secret }),
  });
  if (answer.ok) return location.replace("/");
  const { error } = await answer.json();
  refused(error);
}

const tryIt = () => enter().catch(() => refused("The coordinator does not answer. Ask for another link, and try again."));

tryIt();
addEventListener("hashchange", tryIt); // another link, in the window that refused the last
