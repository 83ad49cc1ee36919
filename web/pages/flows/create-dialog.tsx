import { useState, type JSX } from "react";
import { useNavigate } from "react-router";
import { useIntent } from "../../api/intent.ts";
import { toProblem } from "../../api/problem.ts";
import { createProject, useProjectAction } from "../../api/projects.ts";
import { links } from "../../links.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field, errorsAt } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { FromExample } from "./from-example.tsx";
import { FromFile, FromText } from "./from-text.tsx";
import { flowIn, nameIn } from "./flow-shape.ts";

const WAYS = ["empty", "example", "file", "paste"] as const;
/** What a new flow starts from. */
export type Way = (typeof WAYS)[number];
const NAMES: Readonly<Record<Way, string>> = {
  empty: "Empty",
  example: "Example",
  file: "File",
  paste: "Clipboard",
};

export const wayIn = (text: string | null): Way | null => WAYS.find((each) => each === text) ?? null;

/** Creates a project whose draft is empty, an example, or a flow from a file or the clipboard, and opens the editor. */
export function CreateDialog({
  way,
  folder,
  onWay,
  onClose,
}: {
  readonly way: Way;
  /** The new flow is put into this folder. */
  readonly folder: string;
  readonly onWay: (way: Way) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const navigate = useNavigate();
  const intent = useIntent();
  const create = useProjectAction(createProject);
  const before = folder === "" ? "" : `${folder}/`;
  const [name, setName] = useState<string | null>(null);
  const [text, setText] = useState<string | null>(null);
  const [isSent, setSent] = useState(false);

  const given = way === "empty" || text === null ? null : flowIn(text);
  const fault = given !== null && "fault" in given ? given.fault : null;
  const suggested = given !== null && "flow" in given ? nameIn(given.flow) : "";
  const chosen = name ?? before + suggested;
  const lacking = way !== "empty" && given === null ? LACKING[way] : null;
  const problem = create.error && toProblem(create.error);
  const nameErrors = isSent && chosen.trim() === "" ? ["Enter a name."] : errorsAt(problem, "name");

  const choose = (next: Way): void => {
    if (next === way) return;
    setText(null);
    setSent(false);
    create.reset();
    onWay(next);
  };
  const send = (): void => {
    setSent(true);
    if (chosen.trim() === "" || lacking !== null || fault !== null) return;
    const flow = given !== null && "text" in given ? given.text : null;
    create.mutate(
      { name: chosen.trim(), flow, intent },
      { onSuccess: ({ project_id }) => void navigate(links.flowEdit(project_id)) },
    );
  };
  const wrong = fault ?? (isSent ? lacking : null);

  return (
    <Dialog title="Create flow" onClose={onClose} wide={way !== "empty"}>
      <Tabs
        label="Start from"
        tabs={WAYS}
        chosen={way}
        link={(each, current) => (
          <button
            type="button"
            aria-current={current}
            data-first={each === way && each === "example" ? true : undefined}
            onClick={() => choose(each)}
          >
            {NAMES[each]}
          </button>
        )}
      />
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        {way === "example" && <FromExample onChoose={setText} />}
        {way === "file" && <FromFile fault={wrong} onText={setText} />}
        {way === "paste" && <FromText fault={wrong} onText={setText} />}
        {way === "example" && wrong !== null && (
          <span className="small field-error" role="alert">
            {wrong}
          </span>
        )}
        <Field label="Name" hint="Slashes make folders: support/refunds." errors={nameErrors}>
          {(control) => (
            <input
              className="input"
              maxLength={200}
              data-first={way === "empty" ? true : undefined}
              value={chosen}
              onChange={(event) => setName(event.target.value)}
              {...control}
            />
          )}
        </Field>
        {problem && errorsAt(problem, "name").length === 0 && <Failure fault={problem} />}
        <Submit isPending={create.isPending}>Create flow</Submit>
      </form>
    </Dialog>
  );
}

const LACKING: Readonly<Record<Exclude<Way, "empty">, string>> = {
  example: "Choose an example.",
  file: "Choose a file.",
  paste: "Paste a flow.",
};
