import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { JSX } from "react";
import { meOptions } from "../api/accounts.ts";
import { toProblem } from "../api/problem.ts";
import { Announcer } from "../parts/announce.tsx";
import { Failure } from "../parts/states.tsx";
import { Frame } from "./frame.tsx";
import { SignIn } from "./sign-in.tsx";

/**
 * The console for signed-in people, the sign-in for others. Both use the same address, so that people continue there.
 */
export function Gate(): JSX.Element {
  const { data: me, error, isPending, refetch } = useQuery(meOptions);
  // Out of the address it goes at once; whether it works or not, who is signed in goes on.
  const [link, setLink] = useState(linkInAddress);
  return (
    <>
      <Announcer />
      {error !== null && me === undefined ? (
        <main className="gate">
          <Failure fault={toProblem(error)} retry={() => void refetch()} />
        </main>
      ) : isPending ? null : me === null || link !== null ? (
        <SignIn link={link} onLinkTried={() => setLink(null)} />
      ) : (
        <Frame />
      )}
    </>
  );
}

const LINK = "#link=";
const linkInAddress = (): string | null => (location.hash.startsWith(LINK) ? location.hash.slice(LINK.length) : null);
