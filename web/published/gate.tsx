import { useState, type JSX } from "react";
import { Field } from "../parts/field.tsx";
import { onTexts } from "../parts/form-texts.ts";
import { isRefused, sayError, type PageApi } from "./api.ts";
import type { Look } from "./shapes.ts";

/** Asks for the page's password. */
export function Gate({
  api,
  look,
  onEntered,
}: {
  readonly api: PageApi;
  readonly look: Look;
  readonly onEntered: () => void;
}): JSX.Element {
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const enter = onTexts((given) => {
    const password = given("password");
    if (password === "") return setError("Enter the password.");
    setBusy(true);
    api
      .enter(password)
      .then(onEntered, (fault: unknown) =>
        setError(isRefused(fault) ? "This password is not right. Check it and try again." : sayError(fault)),
      )
      .finally(() => setBusy(false));
  });
  return (
    <main className="page-center">
      <h1>{look.name}</h1>
      <p>This page needs a password. You get it from the people who gave you the link.</p>
      <form className="stack gate" noValidate onSubmit={enter}>
        <Field label="Password" errors={error === null ? [] : [error]}>
          {(control) => (
            <input className="input" type="password" name="password" autoComplete="current-password" {...control} />
          )}
        </Field>
        <button type="submit" className="button button-primary" disabled={isBusy}>
          Open the page
        </button>
      </form>
    </main>
  );
}
