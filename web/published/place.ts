/** What the address after `#` names: the conversation or the run that is shown, so that a reload shows it again. */
export function placeIn(name: "conversation" | "run"): string | null {
  const id = new URLSearchParams(location.hash.slice(1)).get(name);
  return id !== null && /^[\w-]{1,64}$/.test(id) ? id : null;
}

export function goTo(name: "conversation" | "run", id: string | null): void {
  const hash = id === null ? "" : `#${name}=${id}`;
  // Browsers allow only so many changes of the address in a time.
  if (location.hash !== hash) history.replaceState(null, "", location.pathname + hash);
}
