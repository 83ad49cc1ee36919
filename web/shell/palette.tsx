import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { JSX } from "react";
import { useNavigate } from "react-router";
import { useMay } from "../api/accounts.ts";
import { projectsOptions } from "../api/runs.ts";
import { links } from "../links.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icons.tsx";
import type { IconName } from "../parts/icons.tsx";

interface Command {
  readonly name: string;
  readonly icon: IconName;
  readonly to: string;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SHOWN = 12;
const PAGES: readonly Command[] = [
  { name: "Home", icon: "home", to: links.home() },
  { name: "Runs", icon: "runs", to: links.runs() },
  { name: "Runs that failed", icon: "cross", to: links.runs({ state: "FAILED" }) },
  { name: "Runs under way", icon: "spin", to: links.runs({ state: ["PENDING", "RUNNING", "RESUMED", "PAUSED"] }) },
  { name: "Runs that are stuck", icon: "warning", to: links.runs({ stuck: "true" }) },
  { name: "Inbox", icon: "inbox", to: links.inbox() },
  { name: "Webhooks", icon: "webhooks", to: links.webhooks() },
  { name: "Usage of models", icon: "compare", to: links.usage() },
  { name: "In the background", icon: "clock", to: links.background() },
  { name: "Connections", icon: "access", to: links.connections() },
  { name: "Retention", icon: "clock", to: links.retention() },
  { name: "Access", icon: "access", to: links.access() },
  { name: "Settings", icon: "settings", to: links.settings() },
];

/** Pages that roles in single projects do not open. */
const OF_THE_ORGANISATION: readonly string[] = [
  links.webhooks(),
  links.usage(),
  links.connections(),
  links.background(),
];

/** Goes to a page, to the runs of a project, or to the run whose id is given. */
export function Palette({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const navigate = useNavigate();
  const { data: projects } = useQuery(projectsOptions);
  const isViewer = useMay("viewer");

  const wanted = text.trim();
  const known: Command[] = [
    ...PAGES.filter(({ to }) => isViewer || !OF_THE_ORGANISATION.includes(to)),
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
        aria-label="Page, project or run id"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={commands.length > 0 ? `${listId}-${chosen}` : undefined}
        placeholder="Page, project or run id"
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
      <div id={listId} className="palette-list" role="listbox" aria-label="Where to go">
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
      {commands.length === 0 && <p className="muted">Nothing is called that.</p>}
    </Dialog>
  );
}
