import { Suspense, useLayoutEffect, type JSX } from "react";
import { BrowserRouter, Route, Routes } from "react-router";
import type { Page } from "../page.ts";
import { PageTitle, titleDocument } from "../parts/page.tsx";
import { Loading } from "../parts/states.tsx";
import { PAGES, Reference } from "../routes.tsx";
import { Gate } from "./gate.tsx";
import { NotFound } from "./not-found.tsx";

/** The console below its base path, or the API reference, which needs no sign-in. */
export function Routing(): JSX.Element {
  if (location.pathname === "/docs")
    return (
      <Suspense
        fallback={
          <main className="gate">
            <Loading what="the API reference" />
          </main>
        }
      >
        <Reference />
      </Suspense>
    );
  return (
    <BrowserRouter basename="/console">
      <Routes>
        <Route element={<Gate />}>
          {PAGES.map((page) => (
            <Route key={page.path} path={page.path} element={<Titled page={page} />} />
          ))}
          <Route path="*" element={<Titled page={NOT_FOUND} />} />
        </Route>
      </Routes>
    </BrowserRouter>
  );
}

const NOT_FOUND = { path: "*", title: "Page not found", Shown: NotFound };

/** A page with its title from the table, which holds until the page sets the name of what it shows. */
function Titled({ page: { path, title, Shown } }: { readonly page: Omit<Page, "place"> }): JSX.Element {
  // A layout effect runs before the effect of the page's head, and while the page still loads.
  useLayoutEffect(() => titleDocument(title), [path, title]);
  return (
    <PageTitle value={title}>
      <Shown />
    </PageTitle>
  );
}
