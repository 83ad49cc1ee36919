import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { meOptions } from "../api/accounts.ts";
import { toProblem } from "../api/problem.ts";
import { Announcer } from "../parts/announce.tsx";
import { Failure } from "../parts/states.tsx";
import { Frame } from "./frame.tsx";
import { SignIn } from "./sign-in.tsx";

/** The console for who is signed in, the sign-in for others: at the same address, which is where they go on. */
export function Gate(): JSX.Element {
  const { data: me, error, isPending, refetch } = useQuery(meOptions);
  const hasLink = location.hash.startsWith("#link=");
  return (
    <>
      <Announcer />
      {error !== null ? (
        <main className="gate">
          <Failure fault={toProblem(error)} retry={() => void refetch()} />
        </main>
      ) : isPending ? null : me === null || hasLink ? (
        <SignIn />
      ) : (
        <Frame />
      )}
    </>
  );
}
