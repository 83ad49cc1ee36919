import { useState } from "react";
import { sayError } from "./api.ts";
import type { PageApi } from "./api.ts";
import type { UploadInput, Uploaded } from "./shapes.ts";

/** Files by the input they are for. */
export type Files = Readonly<Record<string, readonly Uploaded[]>>;

/** What is needed to upload files to the inputs of a flow. */
export interface Uploads {
  readonly files: Files;
  readonly isUploading: boolean;
  readonly errors: Readonly<Record<string, string>>;
  add(input: UploadInput, chosen: readonly File[]): Promise<void>;
  remove(input: UploadInput, file: Uploaded): void;
  /** Forgets files that belong to one message; documents stay, because later answers read them too. */
  sent(documents: readonly UploadInput[]): void;
  clear(): void;
  /** Shows the documents of a conversation. */
  load(documents: readonly UploadInput[], conversation: string): void;
}

/** Uploads belong to a conversation: the given one, or the new one that the first upload makes. */
export function useUploads(api: PageApi, conversation: string | null, onConversation: (id: string) => void): Uploads {
  const [files, setFiles] = useState<Files>({});
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [uploading, setUploading] = useState(0);
  const change = (id: string, to: (all: readonly Uploaded[]) => readonly Uploaded[]): void =>
    setFiles((all) => ({ ...all, [id]: to(all[id] ?? []) }));
  return {
    files,
    errors,
    isUploading: uploading > 0,
    async add(input, chosen) {
      const { node_id: id, max_bytes: most, kind } = input;
      setErrors((all) => Object.fromEntries(Object.entries(all).filter(([each]) => each !== id)));
      setUploading((count) => count + 1);
      let into = conversation;
      try {
        for (const file of chosen) {
          if (file.size > most)
            throw new RangeError(`${file.name} is larger than ${sizeOf(most)}. Choose a smaller file.`);
          const uploaded = await api.upload(id, file, into);
          into = uploaded.conversation_id;
          onConversation(into);
          change(id, (all) => (kind === "files" ? [...without(all, uploaded), uploaded] : [uploaded]));
        }
      } catch (error) {
        setErrors((all) => ({ ...all, [id]: error instanceof RangeError ? error.message : sayError(error) }));
      } finally {
        setUploading((count) => count - 1);
      }
    },
    remove({ node_id: id }, file) {
      change(id, (all) => without(all, file));
      // A file that stays on the server for a moment longer does no harm: it goes with its conversation.
      void api.removeFile(id, file.filename, file.conversation_id).catch(() => undefined);
    },
    sent(documents) {
      const lasting = documents.filter(({ kind }) => kind === "files").map(({ node_id }) => node_id);
      setFiles((all) => Object.fromEntries(Object.entries(all).filter(([id]) => lasting.includes(id))));
    },
    load(documents, from) {
      for (const { node_id: id, kind } of documents) {
        if (kind !== "files") continue;
        // Without the list the answers read the documents nevertheless.
        api.files(id, from).then(
          (all) => change(id, () => all),
          () => undefined,
        );
      }
    },
    clear() {
      setFiles({});
      setErrors({});
    },
  };
}

const without = (all: readonly Uploaded[], { filename }: Uploaded): readonly Uploaded[] =>
  all.filter((each) => each.filename !== filename);

/** The input that takes a file: the first that names its type, or the first that takes any. */
export function inputFor(documents: readonly UploadInput[], { type }: File): UploadInput | undefined {
  const takes = ({ accept, kind }: UploadInput): boolean =>
    (accept ?? (kind === "files" ? [] : [`${kind}/*`])).some((each) =>
      each.endsWith("/*") ? type.startsWith(each.slice(0, -1)) : type === each,
    );
  return (
    documents.find(takes) ?? documents.find(({ accept, kind }) => accept === null && kind === "files") ?? documents[0]
  );
}

const UNITS = ["B", "KiB", "MiB", "GiB"];
export function sizeOf(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));
  const value = bytes / 1024 ** unit;
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${UNITS[unit] ?? ""}`;
}
