import { useId, useRef, type JSX, type ReactNode } from "react";
import "./chat.css";

/** Keyboards on a screen have no Shift and Enter, so Enter begins a new line there. */
const isTouch = (): boolean => matchMedia("(pointer: coarse)").matches;

/** Where a question is typed: Enter sends it, Shift and Enter begin a new line. */
export function Composer({
  value,
  onChange,
  onSend,
  isBusy,
  onStop,
  isStopping = false,
  label = "Message",
  placeholder = "Ask something…",
  maxLength = null,
  accept,
  onFiles,
  closed = null,
  children,
}: {
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly onSend: () => void;
  /** While an answer is written, the button stops it, and the next question can be typed but not sent. */
  readonly isBusy: boolean;
  readonly onStop: () => void;
  readonly isStopping?: boolean;
  readonly label?: string;
  readonly placeholder?: string;
  /** Longest question (characters), if there is a limit. */
  readonly maxLength?: number | null;
  /** Media types of files, as an input takes them. */
  readonly accept?: string | undefined;
  /** Takes files that were chosen, dropped or pasted; without it, there is no button for files. */
  readonly onFiles?: ((files: readonly File[]) => void) | undefined;
  /** Why nothing can be sent, instead of the field. */
  readonly closed?: string | null;
  /** Above the field: uploaded files, a failure. */
  readonly children?: ReactNode;
}): JSX.Element {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const tooLong = maxLength !== null && value.length > maxLength;
  const maySend = !isBusy && value.trim() !== "" && !tooLong;
  const take = (chosen: FileList | null | undefined): boolean => {
    if (!onFiles || !chosen || chosen.length === 0) return false;
    onFiles([...chosen]);
    return true;
  };
  const send = (): void => {
    if (!maySend) return;
    onSend();
    field.current?.focus();
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- files may be dropped anywhere on it
    <form
      className="chat-composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => {
        if (onFiles && event.dataTransfer.types.includes("Files")) event.preventDefault();
      }}
      onDrop={(event) => {
        if (take(event.dataTransfer.files)) event.preventDefault();
      }}
    >
      {children}
      {closed === null ? (
        <div className="chat-field">
          <label className="visually-hidden" htmlFor={id}>
            {label}
          </label>
          <textarea
            ref={field}
            id={id}
            className="input"
            rows={1}
            placeholder={placeholder}
            value={value}
            aria-invalid={tooLong ? true : undefined}
            aria-describedby={`${id}-hint`}
            onChange={(event) => onChange(event.target.value)}
            onKeyDown={(event) => {
              // Enter also ends the writing of a word in an input method.
              if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing || isTouch()) return;
              event.preventDefault();
              send();
            }}
            onPaste={(event) => {
              if (take(event.clipboardData.files)) event.preventDefault();
            }}
          />
          <div className="chat-buttons">
            {onFiles && (
              <>
                <button type="button" className="button" onClick={() => files.current?.click()}>
                  Attach…
                </button>
                <input
                  ref={files}
                  type="file"
                  multiple
                  hidden
                  aria-label="Files"
                  accept={accept}
                  onChange={(event) => {
                    take(event.target.files);
                    event.target.value = "";
                  }}
                />
              </>
            )}
            {isBusy ? (
              <button type="button" className="button" disabled={isStopping} onClick={onStop}>
                {isStopping ? "Stopping…" : "Stop"}
              </button>
            ) : (
              <button type="submit" className="button button-primary" disabled={!maySend}>
                Send
              </button>
            )}
          </div>
        </div>
      ) : (
        <p className="muted wrap">{closed}</p>
      )}
      <span id={`${id}-hint`} className={tooLong ? "small field-error" : "visually-hidden"}>
        {tooLong
          ? `${value.length.toLocaleString()} of at most ${maxLength.toLocaleString()} characters.`
          : isTouch()
            ? "Enter begins a new line."
            : "Enter sends, Shift and Enter begin a new line."}
      </span>
    </form>
  );
}
