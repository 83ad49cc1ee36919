/** Global keyboard shortcuts, as the help shows them. */
export const SHORTCUTS: ReadonlyArray<readonly [keys: string, what: string]> = [
  ["/", "Search this page or open another"],
  ["Ctrl K", "Open a page, project or run"],
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["?", "Show keyboard shortcuts"],
  ["Esc", "Close the open dialog or menu"],
];

/** Keyboard shortcuts of a run's timeline while it has the focus. */
export const TIMELINE_KEYS: typeof SHORTCUTS = [
  ["↑ ↓", "Previous row, next row"],
  ["→ ←", "Expand, collapse"],
  ["+ -", "Zoom in, zoom out"],
  ["0", "Fit to window"],
  ["Shift ← →", "Pan"],
];

/** Keyboard shortcuts of the editor of flows, while no field has the focus. */
export const EDITOR_KEYS: typeof SHORTCUTS = [
  ["↑ ↓", "Node before or after, along an edge"],
  ["← →", "Node beside"],
  ["Alt ← → ↑ ↓", "Move the node"],
  ["Enter", "Configure the node"],
  ["N", "Add a node after the selected one"],
  ["C", "Connect the node"],
  ["Shift F10", "Open the menu of the selection, as the right mouse button does"],
  ["E", "Show the flow of a map or loop in place"],
  ["S", "Add a sticky note"],
  ["T", "Tidy up the flow or the selection"],
  ["L", "Lock or unlock"],
  ["Delete", "Delete the selection"],
  ["Ctrl C", "Copy as JSON; Ctrl X cuts, Ctrl V pastes"],
  ["Ctrl D", "Duplicate"],
  ["Ctrl Z", "Undo; Ctrl Shift Z redoes"],
  ["Ctrl A", "Select everything"],
  ["Ctrl F", "Search and replace"],
];
