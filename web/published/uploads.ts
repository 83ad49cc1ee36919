import { sayError, type PageApi } from "./api.ts";
import type { Runs } from "./runs.ts";
import type { UploadInput, Uploaded } from "./shapes.ts";
import { State } from "./state.ts";

/** Uploaded files by the input they are for. */
export type Files = Readonly<Record<string, readonly Uploaded[]>>;

interface UploadsState {
  readonly files: Files;
  /** Names of the files that are being uploaded, by input. */
  readonly coming: Readonly<Record<string, readonly string[]>>;
  /** Why the last files of an input could not be uploaded. */
  readonly errors: Readonly<Record<string, string>>;
}
const EMPTY: UploadsState = { files: {}, coming: {}, errors: {} };

/** The files of the conversation that is shown; the first upload begins one. */
export class Uploads {
  readonly state = new State(EMPTY);
  readonly #api: PageApi;
  readonly #runs: Runs;

  constructor(api: PageApi, runs: Runs) {
    this.#api = api;
    this.#runs = runs;
  }

  get isUploading(): boolean {
    return Object.values(this.state.get().coming).some((names) => names.length > 0);
  }

  async add({ node_id: id, max_bytes: most, kind }: UploadInput, chosen: readonly File[]): Promise<void> {
    const { coming, errors } = this.state.get();
    const others = Object.entries(errors).filter(([each]) => each !== id);
    this.#set({ coming: { ...coming, [id]: chosen.map(({ name }) => name) }, errors: Object.fromEntries(others) });
    try {
      for (const file of chosen) {
        if (file.size > most)
          throw new RangeError(`${file.name} is larger than ${sizeOf(most)}. Choose a smaller file.`);
        const uploaded = await this.#api.upload(id, file, this.#runs.state.get().conversation);
        this.#runs.enter(uploaded.conversation_id);
        this.#change(id, (all) => (kind === "files" ? [...without(all, uploaded), uploaded] : [uploaded]));
      }
    } catch (error) {
      const text = error instanceof RangeError ? error.message : sayError(error);
      this.#set({ errors: { ...this.state.get().errors, [id]: text } });
    } finally {
      this.#set({ coming: { ...this.state.get().coming, [id]: [] } });
    }
  }

  remove({ node_id: id }: UploadInput, file: Uploaded): void {
    this.#change(id, (all) => without(all, file));
    this.#api.removeFile(id, file.filename, file.conversation_id).catch((error: unknown) => {
      // A file that is still there is read by the next answer.
      this.#change(id, (all) => [...without(all, file), file]);
      this.#set({ errors: { ...this.state.get().errors, [id]: sayError(error) } });
    });
  }

  /** Forgets files that belong to one message; documents stay, because later answers read them too. */
  sent(documents: readonly UploadInput[]): void {
    const lasting = documents.filter(({ kind }) => kind === "files").map(({ node_id }) => node_id);
    const files = Object.entries(this.state.get().files).filter(([id]) => lasting.includes(id));
    this.#set({ files: Object.fromEntries(files) });
  }

  clear(): void {
    this.state.set(EMPTY);
  }

  /** Shows the documents of a conversation. */
  async load(documents: readonly UploadInput[], conversation: string): Promise<void> {
    this.clear();
    for (const { node_id: id, kind } of documents) {
      if (kind !== "files") continue;
      // Without the list the answers read the documents nevertheless.
      const files = await this.#api.files(id, conversation).catch(() => []);
      if (this.#runs.state.get().conversation === conversation) this.#change(id, () => files);
    }
  }

  #set(changed: Partial<UploadsState>): void {
    this.state.set({ ...this.state.get(), ...changed });
  }

  #change(id: string, to: (all: readonly Uploaded[]) => readonly Uploaded[]): void {
    const { files } = this.state.get();
    this.#set({ files: { ...files, [id]: to(files[id] ?? []) } });
  }
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
