import type { JSX } from "react";

/** Descriptions from the API document: paragraphs with code between backticks. Always text, never markup. */
export function Prose({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {text.split("\n\n").map((paragraph, index) => (
        <p key={index} className="wrap">
          <Inline text={paragraph} />
        </p>
      ))}
    </>
  );
}

export function Inline({ text }: { readonly text: string }): JSX.Element {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
