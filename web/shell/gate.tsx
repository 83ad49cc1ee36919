import { useQuery } from "@tanstack/react-query";
import { Suspense, lazy, useState, type JSX } from "react";
import { meOptions } from "../api/accounts.ts";
import { Announcer } from "../parts/announce.tsx";
import { Failure } from "../parts/states.tsx";
import { Frame } from "./frame.tsx";

// People who are signed in, as most are who open a page, never need the form.
const SignIn = lazy(async () => ({ default: (await import("./sign-in.tsx")).SignIn }));

/** The console, or the sign-in form if no one is signed in. Both use the same URL, so that people stay on their page. */
export function Gate(): JSX.Element {
  const { data: me, error, isPending, refetch } = useQuery(meOptions);
  // The link is removed from the URL immediately. A signed-in person stays signed in, whether the link works or not.
  const [link, setLink] = useState(linkInAddress);
  const content = (): JSX.Element | null => {
    if (error !== null && me === undefined)
      return (
        <main className="gate">
          <Failure fault={error} retry={() => void refetch()} />
        </main>
      );
    if (isPending) return null;
    if (me !== null && link === null) return <Frame />;
    return (
      <Suspense fallback={null}>
        <SignIn link={link} onLinkTried={() => setLink(null)} />
      </Suspense>
    );
  };
  return (
    <>
      <Announcer />
      {content()}
    </>
  );
}

const LINK = "#link=";
const linkInAddress = (): string | null => (location.hash.startsWith(LINK) ? location.hash.slice(LINK.length) : null);
