import { useEffect, useRef, useState, type JSX } from "react";
import type { Schemas } from "../../api/client.ts";
import { useIntent } from "../../api/intent.ts";
import { toProblem } from "../../api/problem.ts";
import {
  changePublishedPage,
  publishPage,
  usePublishedPageAction,
  type PublishedPage,
} from "../../api/published-pages.ts";
import { chatFlow } from "../../flow/chat-flow.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Failure, Notice } from "../../parts/states.tsx";
import { AccessFields } from "./access-fields.tsx";
import { LookPreview } from "./look-preview.tsx";
import { changeBody, createBody, formOf, newPage, type PageForm } from "./page-form.ts";

const KINDS = [
  ["form", "Form", "The inputs of one run, and its outputs."],
  ["chat", "Chat", "A conversation."],
] as const;
const SUGGESTED = "#0b6470";
const MAX_NAME = 120;
const MAX_WELCOME = 2000;

/** Publishes a page, or changes one. */
export function PageDialog({
  project,
  io,
  page,
  onClose,
  onSaved,
}: {
  readonly project: Pick<Schemas["Project"], "project_id" | "name">;
  /** Undefined until it is read. */
  readonly io: Schemas["FlowIo"] | undefined;
  /** Null for a new page. */
  readonly page: PublishedPage | null;
  readonly onClose: () => void;
  readonly onSaved: (page: PublishedPage) => void;
}): JSX.Element {
  const { project_id } = project;
  const chat = io && chatFlow(io);
  const noChat = typeof chat === "string" ? chat : null;
  const [form, setForm] = useState<PageForm>(() =>
    page ? formOf(page) : newPage(noChat === null && io !== undefined ? "chat" : "form", shortName(project.name)),
  );
  const change = (next: Partial<PageForm>): void => setForm((known) => ({ ...known, ...next }));
  const intent = useIntent();
  const save = usePublishedPageAction(async (filled: PageForm): Promise<PublishedPage> =>
    page
      ? changePublishedPage({ project_id, page_id: page.page_id, body: changeBody(filled, page) })
      : publishPage({ project_id, intent, body: createBody(filled) }),
  );
  const fields = useRef<HTMLFormElement>(null);
  const problem = save.error && toProblem(save.error);
  useEffect(() => {
    if (save.error) fields.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [save.error]);
  const errorsOf = (...names: readonly string[]): string[] =>
    (problem?.issues ?? []).filter(({ loc }) => names.every((name, at) => loc[at + 1] === name)).map(({ msg }) => msg);

  return (
    <Dialog title={page ? `Edit “${page.look.name}”` : "Publish a page"} onClose={onClose} wide>
      <form
        ref={fields}
        className="published"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(form, { onSuccess: onSaved });
        }}
      >
        <div className="stack">
          {!page && (
            <fieldset>
              <legend>Kind</legend>
              {KINDS.map(([kind, name, about]) => (
                <label key={kind} className="check">
                  <input
                    type="radio"
                    name="kind"
                    checked={form.kind === kind}
                    disabled={kind === "chat" && noChat !== null}
                    onChange={() => change({ kind })}
                  />
                  <span className="wrap">
                    {name} <span className="small muted">{kind === "chat" && noChat !== null ? noChat : about}</span>
                  </span>
                </label>
              ))}
              {errorsOf("kind").map((each) => (
                <span key={each} className="small field-error" role="alert">
                  {each}
                </span>
              ))}
            </fieldset>
          )}
          <Field label="Title" errors={errorsOf("look", "name")}>
            {(control) => (
              <input
                className="input"
                data-first
                maxLength={MAX_NAME}
                value={form.name}
                onChange={(event) => change({ name: event.target.value })}
                {...control}
              />
            )}
          </Field>
          <Field label="Welcome (optional)" errors={errorsOf("look", "welcome")}>
            {(control) => (
              <textarea
                className="input"
                maxLength={MAX_WELCOME}
                value={form.welcome}
                onChange={(event) => change({ welcome: event.target.value })}
                {...control}
              />
            )}
          </Field>
          <Field label="Colour" hint="Of buttons and links." errors={errorsOf("look", "colour")}>
            {(control) => (
              <span className="row">
                <input
                  type="color"
                  className="published-colour"
                  value={form.colour === "" ? SUGGESTED : form.colour}
                  onChange={(event) => change({ colour: event.target.value })}
                  {...control}
                />
                {form.colour === "" ? (
                  <span className="small muted">Usual colour</span>
                ) : (
                  <button type="button" className="button button-small" onClick={() => change({ colour: "" })}>
                    Use the usual colour
                  </button>
                )}
              </span>
            )}
          </Field>
          <AccessFields
            projectId={project_id}
            form={form}
            page={page}
            pauses={io?.pauses ?? []}
            change={change}
            errorsOf={errorsOf}
          />
        </div>
        <LookPreview form={form} input={typeof chat === "object" ? chat.input.label : "Message"} />
        <div className="published-end stack-tight">
          {problem && problem.status !== 422 && <Failure fault={problem} />}
          {problem?.status === 422 && <Notice tone="bad">Some fields are not valid. Correct the marked fields.</Notice>}
          {!page && (
            <p className="small muted">Anyone who has the URL can use the page until it closes or you revoke it.</p>
          )}
          <div className="row">
            <button
              type="submit"
              className="button button-primary"
              disabled={save.isPending || form.name.trim() === ""}
            >
              {page ? "Save" : "Publish page"}
            </button>
            <button type="button" className="button" onClick={onClose}>
              Cancel
            </button>
          </div>
        </div>
      </form>
    </Dialog>
  );
}

/** The name of a project without its folders. */
const shortName = (name: string): string => name.split("/").at(-1) ?? name;
