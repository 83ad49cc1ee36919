import type { JSX } from "react";
import "./chat.css";

/** A document that answers can read. */
export interface ChatFile {
  readonly key: string;
  readonly name: string;
  /** "reading": uploaded, and its text is being extracted. */
  readonly state: "uploading" | "reading" | "ready" | "failed";
  /** Why it cannot be read. */
  readonly error: string | null;
}

const WORDS: Readonly<Record<ChatFile["state"], string>> = {
  uploading: "uploading…",
  reading: "reading…",
  ready: "",
  failed: "cannot be read",
};

/** The documents of a conversation. */
export function Files({
  files,
  onRemove,
}: {
  readonly files: readonly ChatFile[];
  readonly onRemove: (file: ChatFile) => void;
}): JSX.Element | null {
  if (files.length === 0) return null;
  return (
    <ul className="chat-files" aria-label="Files">
      {files.map((file) => (
        <li key={file.key} className={file.state === "failed" ? "chat-file-failed" : undefined}>
          <span className="wrap">{file.name}</span>
          {WORDS[file.state] !== "" && <span className="small muted nowrap">{WORDS[file.state]}</span>}
          {file.state !== "uploading" && (
            <button
              type="button"
              className="button button-quiet button-small"
              aria-label={`Remove ${file.name}`}
              onClick={() => onRemove(file)}
            >
              ×
            </button>
          )}
          {file.error !== null && <span className="small field-error wrap">{file.error}</span>}
        </li>
      ))}
    </ul>
  );
}
