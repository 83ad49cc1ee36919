import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, type JSX } from "react";
import { useSignIn, waysInOptions } from "../api/accounts.ts";
import { toProblem } from "../api/problem.ts";
import { Field } from "../parts/field.tsx";
import { Failure } from "../parts/states.tsx";
import { Mark } from "./brand.tsx";
import { onTexts } from "../parts/form-texts.ts";
import "./sign-in.css";

/** Sign-in by identity provider, by e-mail address and password, or by the one-time link that `npm start` prints. */
export function SignIn({
  link,
  onLinkTried,
}: {
  /** The secret of a one-time sign-in link. */
  readonly link: string | null;
  readonly onLinkTried: () => void;
}): JSX.Element {
  const signIn = useSignIn();
  const { data: ways, isPending: isAsking } = useQuery(waysInOptions);
  const providers = ways?.providers ?? [];
  // If the API does not say which methods it supports, the password form is shown.
  const byPassword = !isAsking && (ways?.password ?? true);
  const { mutate } = signIn;
  const tried = useRef<string>(null);

  useEffect(() => {
    document.title = "Sign in · Millrace";
    if (link === null || tried.current === link) return;
    tried.current = link;
    // The secret works once, so it is removed from the browser's history before it is used.
    history.replaceState(history.state, "", location.pathname + location.search);
    mutate({ link }, { onSettled: onLinkTried });
  }, [mutate, link, onLinkTried]);

  const problem = signIn.error && toProblem(signIn.error);
  return (
    <main className="gate">
      <span className="brand">
        <Mark /> Millrace
      </span>
      <div className="panel stack">
        <h1>Sign in</h1>
        {problem && <Failure fault={problem} />}
        {providers.map(({ provider_id, name, url }) => (
          <a key={provider_id} className="button" href={`${url}?return_to=${encodeURIComponent(hereInConsole())}`}>
            Sign in with {name}
          </a>
        ))}
        {byPassword && providers.length > 0 && <p className="muted">or with a password</p>}
        {byPassword && <PasswordForm signIn={signIn} />}
      </div>
    </main>
  );
}

const LONGEST = 1000;

/** The requested page; the start page if the URL is too long for the API. */
function hereInConsole(): string {
  const here = location.pathname + location.search;
  return here.length <= LONGEST ? here : "/console/";
}

function PasswordForm({ signIn }: { readonly signIn: ReturnType<typeof useSignIn> }): JSX.Element {
  return (
    <form
      className="stack"
      onSubmit={onTexts((given) => signIn.mutate({ email: given("email"), password: given("password") }))}
    >
      <Field label="Email address">
        {(control) => (
          <input className="input" name="email" type="email" autoComplete="username" required autoFocus {...control} />
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
  );
}
