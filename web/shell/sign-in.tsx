import { useEffect, useRef } from "react";
import type { JSX } from "react";
import { useSignIn } from "../api/accounts.ts";
import { toProblem } from "../api/problem.ts";
import { Field } from "../parts/field.tsx";
import { Failure } from "../parts/states.tsx";
import { Mark } from "./brand.tsx";
import { formTexts } from "../parts/form-texts.ts";
import "./sign-in.css";

/** By e-mail address and password, or by the one-time link that `npm start` prints. */
export function SignIn({
  link,
  onLinkTried,
}: {
  /** The secret of a link that signs in once. */
  readonly link: string | null;
  readonly onLinkTried: () => void;
}): JSX.Element {
  const signIn = useSignIn();
  const form = useRef<HTMLFormElement>(null);
  const { mutate } = signIn;
  const tried = useRef<string>(null);

  useEffect(() => {
    document.title = "Sign in · Millrace";
    if (link === null || tried.current === link) return;
    tried.current = link;
    // Out of the history first: it works once.
    history.replaceState(history.state, "", location.pathname + location.search);
    mutate({ link }, { onSettled: onLinkTried });
  }, [mutate, link, onLinkTried]);

  const problem = signIn.error && toProblem(signIn.error);
  return (
    <main className="gate">
      <span className="brand">
        <Mark /> Millrace
      </span>
      <form
        ref={form}
        className="panel stack"
        onSubmit={(event) => {
          event.preventDefault();
          const given = formTexts(event.currentTarget);
          signIn.mutate({ email: given("email"), password: given("password") });
        }}
      >
        <h1>Sign in</h1>
        {problem && <Failure fault={problem} />}
        <Field label="E-mail address">
          {(control) => (
            <input
              className="input"
              name="email"
              type="email"
              autoComplete="username"
              required
              autoFocus
              {...control}
            />
          )}
        </Field>
        <Field label="Password">
          {(control) => (
            <input
              className="input"
              name="password"
              type="password"
              autoComplete="current-password"
              required
              {...control}
            />
          )}
        </Field>
        <button type="submit" className="button button-primary" disabled={signIn.isPending}>
          {signIn.isPending ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
