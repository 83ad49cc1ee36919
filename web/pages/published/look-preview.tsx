import { useLayoutEffect, useRef, type JSX } from "react";
import type { PageForm } from "./page-form.ts";

/** How the top of the page will look. */
export function LookPreview({
  form: { kind, name, colour, welcome },
  input,
}: {
  readonly form: PageForm;
  /** Label of the input. */
  readonly input: string;
}): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = frame;
    if (colour === "") current?.style.removeProperty("--page-colour");
    else current?.style.setProperty("--page-colour", colour);
  }, [colour]);
  return (
    <section className="published-preview" aria-label="Preview">
      <div className="published-frame" ref={frame} aria-hidden="true">
        <strong className="wrap">{name || "Title"}</strong>
        {welcome !== "" && <p className="published-welcome">{welcome}</p>}
        {kind === "chat" ? (
          <>
            <span className="published-bubble">How do I…?</span>
            <span className="published-line" />
            <span className="published-line published-short" />
          </>
        ) : (
          <span className="small muted">{input}</span>
        )}
        <span className="published-input">
          <span className="muted wrap">{kind === "chat" ? `Message ${name}` : ""}</span>
          <span className="published-button">{kind === "chat" ? "Send" : "Run"}</span>
        </span>
      </div>
    </section>
  );
}
