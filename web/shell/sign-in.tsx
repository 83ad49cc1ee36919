import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { JSX } from "react";
import { useSignIn, waysInOptions } from "../api/accounts.ts";
import { toProblem } from "../api/problem.ts";
import { Field } from "../parts/field.tsx";
import { Failure } from "../parts/states.tsx";
import { Mark } from "./brand.tsx";
import { onTexts } from "../parts/form-texts.ts";
import "./sign-in.css";

/** By an identity provider, by e-mail address and password, or by the one-time link that `npm start` prints. */
export function SignIn({
  link,
  onLinkTried,
}: {
  /** The secret of a link that signs in once. */
  readonly link: string | null;
  readonly onLinkTried: () => void;
}): JSX.Element {
  const signIn = useSignIn();
  const { data: ways, isPending: isAsking } = useQuery(waysInOptions);
  const providers = ways?.providers ?? [];
  // Where the service does not say, the form is what there was always.
  const byPassword = !isAsking && (ways?.password ?? true);
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
      <div className="panel stack">
        <h1>Sign in</h1>
        {problem && <Failure fault={problem} />}
        {providers.map(({ provider_id, name, url }) => (
          <a key={provider_id} className="button" href={`${url}?return_to=${encodeURIComponent(hereInConsole())}`}>
            Sign in with {name}
          </a>
        ))}
        {byPassword && providers.length > 0 && <p className="muted">or by password</p>}
        {byPassword && <PasswordForm signIn={signIn} />}
      </div>
    </main>
  );
}

const LONGEST = 1000;

/** The page that is being asked for, or the first one: the service refuses longer addresses. */
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
      <Field label="E-mail address">
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
