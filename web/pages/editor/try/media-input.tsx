import { useEffect, useRef, useState, type JSX } from "react";
import { Field } from "../../../parts/field.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { base64Of } from "../../../parts/base64.ts";
import { bytesOf, sizeOf } from "./files.ts";
import { labelOf, type OneInput } from "../../../flow/input-fields.ts";
import { Recorder } from "./recorder.tsx";

/** A picture or a recording: a file, for pictures also a URL, and for recordings also the microphone. */
export function MediaInput({ field, value, errors, onChange }: OneInput): JSX.Element {
  const [fault, setFault] = useState<string | null>(null);
  const isUrl = /^https?:/i.test(value);
  const take = async (file: Blob | undefined): Promise<void> => {
    setFault(null);
    if (file === undefined) return;
    if (field.maxBytes !== null && file.size > field.maxBytes)
      return setFault(`The file has ${sizeOf(file.size)}. The limit is ${sizeOf(field.maxBytes)}.`);
    try {
      onChange(await base64Of(file));
    } catch {
      setFault("Could not read the file.");
    }
  };
  const all = fault === null ? errors : [fault, ...errors];
  return (
    <div className="stack-tight try-input">
      <Field label={labelOf(field)} {...(field.hint !== null && { hint: field.hint })} errors={all}>
        {(control) =>
          value === "" || isUrl ? (
            <input
              className="input"
              type="file"
              data-input={field.id}
              accept={field.accept?.join(",")}
              onChange={(event) => void take(event.target.files?.[0])}
              {...control}
            />
          ) : (
            <Chosen field={field} value={value} onRemove={() => onChange(undefined)} control={control} />
          )
        }
      </Field>
      {field.kind === "image" && (value === "" || isUrl) && (
        <Field label={`URL of ${field.label}`}>
          {(control) => (
            <input
              className="input"
              type="url"
              placeholder="https://"
              value={value}
              onChange={(event) => onChange(event.target.value)}
              {...control}
            />
          )}
        </Field>
      )}
      {field.kind === "audio" && value === "" && <Recorder onRecorded={(blob) => void take(blob)} />}
    </div>
  );
}

function Chosen({
  field,
  value,
  onRemove,
  control,
}: {
  readonly field: OneInput["field"];
  readonly value: string;
  readonly onRemove: () => void;
  readonly control: { readonly id: string };
}): JSX.Element {
  const bytes = bytesOf(value);
  return (
    <div className="try-media">
      {field.kind === "image" && bytes !== null && <Picture key={value} bytes={bytes} />}
      {field.kind === "audio" && bytes !== null && <Play bytes={bytes} />}
      <span className="small muted">{bytes === null ? "An uploaded file" : sizeOf(bytes.length)}</span>
      <button id={control.id} type="button" className="button button-small" data-input={field.id} onClick={onRemove}>
        Remove
      </button>
    </div>
  );
}

const LARGEST = 160;

/** Drawn on a canvas, because the page's policy allows no pictures that are not from its own server. */
function Picture({ bytes }: { readonly bytes: Uint8Array<ArrayBuffer> }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isUnreadable, setUnreadable] = useState(false);
  const size = bytes.length;
  useEffect(() => {
    let isOver = false;
    createImageBitmap(new Blob([bytes]))
      .then((picture) => {
        const { current } = canvas;
        if (isOver || !current) return;
        const scale = Math.min(1, LARGEST / Math.max(picture.width, picture.height));
        current.width = Math.max(1, Math.round(picture.width * scale));
        current.height = Math.max(1, Math.round(picture.height * scale));
        current.getContext("2d")?.drawImage(picture, 0, 0, current.width, current.height);
        setUnreadable(false);
      })
      .catch(() => setUnreadable(true));
    return () => {
      isOver = true;
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the bytes are new with each redraw, the picture is not
  }, [size]);
  return isUnreadable ? (
    <span className="small">This browser cannot show the picture.</span>
  ) : (
    <canvas ref={canvas} className="try-picture" role="img" aria-label="The chosen picture" />
  );
}

/** Plays through an audio context, because the page's policy allows no media that are not from its own server. */
function Play({ bytes }: { readonly bytes: Uint8Array<ArrayBuffer> }): JSX.Element {
  const [playing, setPlaying] = useState<AudioContext | null>(null);
  const [isUnreadable, setUnreadable] = useState(false);
  useEffect(() => () => void playing?.close().catch(() => undefined), [playing]);
  const play = async (): Promise<void> => {
    const context = new AudioContext();
    setPlaying(context);
    try {
      const source = context.createBufferSource();
      source.buffer = await context.decodeAudioData(bytes.slice().buffer);
      source.connect(context.destination);
      source.addEventListener("ended", () => setPlaying(null));
      source.start();
    } catch {
      setUnreadable(true);
      setPlaying(null);
    }
  };
  if (isUnreadable) return <span className="small">This browser cannot play the recording.</span>;
  return (
    <button
      type="button"
      className="button button-small"
      onClick={() => (playing === null ? void play() : setPlaying(null))}
    >
      <Icon name={playing === null ? "runs" : "stop"} /> {playing === null ? "Play" : "Stop"}
    </button>
  );
}
