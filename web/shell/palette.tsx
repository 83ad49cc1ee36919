import { useQuery } from "@tanstack/react-query";
import { useId, useState, type JSX } from "react";
import { useNavigate } from "react-router";
import { useMay } from "../api/accounts.ts";
import { projectsOptions } from "../api/runs.ts";
import { links } from "../links.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Icon, type IconName } from "../parts/icons.tsx";
import { useListed } from "./navigation.tsx";
import "./palette.css";

interface Command {
  readonly name: string;
  readonly icon: IconName;
  readonly to: string;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SHOWN = 20;
/** Lists of runs with filters, which are offered after the pages. */
const LISTS: readonly Command[] = [
  { name: "Failed runs", icon: "cross", to: links.runs({ state: "FAILED" }) },
  { name: "Unfinished runs", icon: "spin", to: links.runs({ state: ["PENDING", "RUNNING", "RESUMED", "PAUSED"] }) },
  { name: "Stuck runs", icon: "warning", to: links.runs({ stuck: "true" }) },
];
const KEYS: Command = { name: "API keys", icon: "access", to: links.access("keys") };

/** Opens a page, the runs of a project, or a run by its ID. */
export function Palette({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const navigate = useNavigate();
  const { data: projects } = useQuery(projectsOptions);
  const isAdmin = useMay("admin");

  const wanted = text.trim();
  const known: Command[] = [
    ...useListed().map(({ to, title, place: { icon } }) => ({ name: title, icon, to })),
    ...LISTS,
    ...(isAdmin ? [KEYS] : []),
    ...(projects?.data ?? []).map(({ name, project_id }) => ({
      name: `Runs of ${name}`,
      icon: "runs" as const,
      to: links.runs({ project_id }),
    })),
  ];
  const commands = UUID.test(wanted)
    ? [{ name: `Run ${wanted}`, icon: "runs" as const, to: links.run(wanted.toLowerCase()) }]
    : known.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase())).slice(0, SHOWN);
  const chosen = Math.min(at, commands.length - 1);

  const go = (command: Command | undefined): void => {
    if (!command) return;
    onClose();
    void navigate(command.to);
  };

  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        className="input"
        role="combobox"
        aria-label="Page, project or run ID"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={commands.length > 0 ? `${listId}-${chosen}` : undefined}
        placeholder="Page, project or run ID"
        data-first
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, commands.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
          else if (event.key === "Enter") go(commands[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <div id={listId} className="palette-list" role="listbox" aria-label="Results">
        {commands.map((command, index) => (
          <button
            key={command.to}
            id={`${listId}-${index}`}
            type="button"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => go(command)}
          >
            <Icon name={command.icon} />
            {command.name}
          </button>
        ))}
      </div>
      {commands.length === 0 && <p className="muted">No results.</p>}
    </Dialog>
  );
}
