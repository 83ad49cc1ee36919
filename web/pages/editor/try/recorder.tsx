import { useEffect, useRef, useState, type JSX } from "react";
import { FlowIcon } from "../../../parts/flow-icons.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { Elapsed } from "../../../parts/time.tsx";

/** The types that transcription takes, in the order of preference. */
const TYPES = ["audio/webm", "audio/mp4", "audio/ogg"];

/** Records from the microphone until the user stops it. */
export function Recorder({ onRecorded }: { readonly onRecorded: (recording: Blob) => void }): JSX.Element {
  const [since, setSince] = useState<string | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const recorder = useRef<MediaRecorder>(null);
  useEffect(() => () => stop(recorder.current), []);
  const start = async (): Promise<void> => {
    setFault(null);
    // Browsers offer the microphone only to pages over HTTPS, and to localhost.
    if (!("mediaDevices" in navigator) || typeof MediaRecorder === "undefined")
      return setFault("Recording needs a browser with a microphone, and a console that is opened over HTTPS.");
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
      const made = new MediaRecorder(stream, mimeType === undefined ? {} : { mimeType });
      const parts: Blob[] = [];
      made.addEventListener("dataavailable", ({ data }) => parts.push(data));
      made.addEventListener("stop", () => {
        for (const track of stream.getTracks()) track.stop();
        setSince(null);
        onRecorded(new Blob(parts, { type: made.mimeType }));
      });
      recorder.current = made;
      made.start();
      setSince(new Date().toISOString());
    } catch (error) {
      const isRefused = error instanceof DOMException && error.name === "NotAllowedError";
      setFault(
        isRefused ? "The browser does not allow the microphone. Allow it for this page." : "No microphone found.",
      );
    }
  };
  return (
    <div className="row">
      {since === null ? (
        <button type="button" className="button button-small" onClick={() => void start()}>
          <FlowIcon name="microphone" /> Record
        </button>
      ) : (
        <>
          <button type="button" className="button button-small button-danger" onClick={() => stop(recorder.current)}>
            <Icon name="stop" /> Stop recording
          </button>
          <span className="small muted">
            <Elapsed from={since} to={null} />
          </span>
        </>
      )}
      {fault !== null && (
        <span className="small field-error" role="alert">
          {fault}
        </span>
      )}
    </div>
  );
}

function stop(recorder: MediaRecorder | null): void {
  if (recorder?.state === "recording") recorder.stop();
}
