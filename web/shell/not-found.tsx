import type { JSX } from "react";
import { Link } from "react-router";
import { links } from "../links.ts";
import { PageHead } from "../parts/page.tsx";
import { Empty } from "../parts/states.tsx";

export function NotFound(): JSX.Element {
  return (
    <>
      <PageHead title="Not found" />
      <Empty title="There is no such page" action={<Link to={links.home()}>Home</Link>}>
        The address may have been cut on its way.
      </Empty>
    </>
  );
}
