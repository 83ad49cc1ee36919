import type { JSX } from "react";
import { Announcer } from "../parts/announce.tsx";
import { sayError } from "./api.ts";
import { ChatPage } from "./chat-page.tsx";
import { FormPage } from "./form-page.tsx";
import { Gate } from "./gate.tsx";
import type { Page } from "./page.ts";
import { useValue } from "./state.ts";

/** The published page: a question for the password, a form or a chat; once the page is closed, only that. */
export function App({ page, isKept }: { readonly page: Page; readonly isKept: () => boolean }): JSX.Element {
  const { api } = page;
  const shown = useValue(page.shown);
  switch (shown.kind) {
    case "loading":
      return (
        <main className="page-center">
          <p role="status">Loading…</p>
        </main>
      );
    case "failed":
      return (
        <main className="page-center">
          <p role="alert">{sayError(shown.error)}</p>
          <button type="button" className="button" onClick={() => void page.load()}>
            Try again
          </button>
        </main>
      );
    case "closed":
      return (
        <main className="page-center">
          <h1>This page is closed</h1>
          <p role="alert">
            It was withdrawn, or its end date has passed. Ask the people who gave you the link for a new one.
          </p>
        </main>
      );
    case "page": {
      const { view } = shown;
      return (
        <>
          {view.needs_password ? (
            <Gate api={api} look={view.look} onEntered={() => void page.load()} />
          ) : view.kind === "chat" ? (
            <ChatPage api={api} view={view} isKept={isKept} />
          ) : (
            <FormPage api={api} view={view} isKept={isKept} />
          )}
          <Announcer />
        </>
      );
    }
  }
}
