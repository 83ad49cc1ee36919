import type { PageApi } from "./api.ts";
import { applyLook } from "./look.ts";
import type { PageView } from "./shapes.ts";
import { State } from "./state.ts";
import { whileInUse } from "./watch.ts";

type Shown =
  | { readonly kind: "loading" | "closed" }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "page"; readonly view: PageView };

/** The published page as it stands: once it is closed, it stays closed. */
export class Page {
  readonly api: PageApi;
  readonly shown = new State<Shown>({ kind: "loading" });

  constructor(api: PageApi) {
    this.api = api;
    // Only the answer that the page is closed matters here; a lost connection is shown where something is sent.
    const leave = whileInUse(() => void api.page().catch(() => undefined));
    api.onClosed = () => {
      leave();
      this.shown.set({ kind: "closed" });
    };
    api.onRefused = () => void this.load();
    void this.load();
  }

  async load(): Promise<void> {
    try {
      const view = await this.api.page();
      applyLook(view.look);
      this.#show({ kind: "page", view });
    } catch (error) {
      this.#show({ kind: "failed", error });
    }
  }

  #show(shown: Shown): void {
    if (this.shown.get().kind !== "closed") this.shown.set(shown);
  }
}
