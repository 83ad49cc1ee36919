import { useEffect, useState, type JSX } from "react";
import { announce } from "../parts/announce.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { onTexts } from "../parts/form-texts.ts";
import { sayError, type PageApi } from "./api.ts";
import type { Conversation, Paged } from "./shapes.ts";

/** The conversations of this browser: open, rename, delete. */
export function Conversations({
  api,
  current,
  titleChars,
  onOpen,
  onRemoved,
  onClose,
}: {
  readonly api: PageApi;
  readonly current: string | null;
  /** Longest title (characters). */
  readonly titleChars: number;
  readonly onOpen: (id: string) => void;
  readonly onRemoved: (id: string) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const [list, setList] = useState<Paged<Conversation> | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [changing, setChanging] = useState<{ readonly id: string; readonly what: "title" | "removal" } | null>(null);
  useEffect(() => {
    api.conversations(null).then(setList, setError);
  }, [api]);
  const more = ({ cursor, data }: Paged<Conversation>): void => {
    api.conversations(cursor).then((page) => setList({ ...page, data: [...data, ...page.data] }), setError);
  };
  const all = list?.data ?? [];
  const change = (work: Promise<void>, done: () => void): void => {
    setError(null);
    work.then(() => {
      setChanging(null);
      done();
    }, setError);
  };
  const rename = (id: string, title: string): void =>
    change(api.rename(id, title), () =>
      setList(
        (now) =>
          now && { ...now, data: now.data.map((each) => (each.conversation_id === id ? { ...each, title } : each)) },
      ),
    );
  const remove = (id: string): void =>
    change(api.remove(id), () => {
      setList((now) => now && { ...now, data: now.data.filter((each) => each.conversation_id !== id) });
      announce("Conversation deleted");
      onRemoved(id);
    });
  return (
    <Dialog title="Conversations" onClose={onClose}>
      <p className="muted">Only this browser can open them.</p>
      {error !== null && (
        <p className="notice notice-bad" role="alert">
          {sayError(error)}
        </p>
      )}
      {list === null && error === null && <p role="status">Loading…</p>}
      {list !== null && all.length === 0 && <p>No conversations yet. Your first message starts one.</p>}
      <ul className="conversation-list">
        {all.map(({ conversation_id: id, title, updated_at: at }) => (
          <li key={id} className="stack-tight">
            {changing?.id === id && changing.what === "title" ? (
              <form className="stack-tight" onSubmit={onTexts((given) => rename(id, given("title").trim()))}>
                <Field label="Title">
                  {(control) => (
                    <input
                      className="input"
                      name="title"
                      required
                      maxLength={titleChars}
                      defaultValue={title ?? ""}
                      ref={(input) => input?.focus()}
                      {...control}
                    />
                  )}
                </Field>
                <div className="row">
                  <button type="submit" className="button button-primary">
                    Save title
                  </button>
                  <button type="button" className="button" onClick={() => setChanging(null)}>
                    Cancel
                  </button>
                </div>
              </form>
            ) : changing?.id === id ? (
              <div className="stack-tight" role="group" aria-label="Delete the conversation?">
                <p className="wrap">Delete “{title ?? "Untitled"}” with its files? This cannot be undone.</p>
                <div className="row">
                  <button type="button" className="button button-danger" onClick={() => remove(id)}>
                    Delete conversation
                  </button>
                  <button type="button" className="button" onClick={() => setChanging(null)}>
                    Cancel
                  </button>
                </div>
              </div>
            ) : (
              <>
                <button
                  type="button"
                  className="button conversation-open"
                  aria-current={id === current ? "true" : undefined}
                  onClick={() => onOpen(id)}
                >
                  <span className="wrap">{title ?? "Untitled"}</span>
                  <span className="muted small">{new Date(at).toLocaleString()}</span>
                </button>
                <div className="row">
                  <button
                    type="button"
                    className="button button-quiet"
                    onClick={() => setChanging({ id, what: "title" })}
                  >
                    Rename<span className="visually-hidden"> {title ?? "Untitled"}</span>
                  </button>
                  <button
                    type="button"
                    className="button button-quiet"
                    onClick={() => setChanging({ id, what: "removal" })}
                  >
                    Delete<span className="visually-hidden"> {title ?? "Untitled"}</span>
                  </button>
                </div>
              </>
            )}
          </li>
        ))}
      </ul>
      {list?.has_more === true && (
        <button type="button" className="button" onClick={() => more(list)}>
          Show more
        </button>
      )}
    </Dialog>
  );
}
