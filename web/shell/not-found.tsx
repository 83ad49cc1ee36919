import type { JSX } from "react";
import { Link } from "react-router";
import { links } from "../links.ts";
import { PageHead } from "../parts/page.tsx";

export function NotFound(): JSX.Element {
  return (
    <>
      <PageHead about="The link may be incomplete or outdated." />
      <p>
        <Link to={links.home()}>Go to Home</Link>
      </p>
    </>
  );
}
