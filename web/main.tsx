import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/client.ts";
import { Routing } from "./shell/routing.tsx";
import { applyTheme } from "./shell/theme.ts";
import "./theme/tokens.css";
import "./theme/base.css";

// The reference page needs a large document, so it is fetched in parallel with the page's code.
if (location.pathname === "/docs")
  void import("./api/reference.ts").then(({ referenceOptions }) => queryClient.prefetchQuery(referenceOptions));

applyTheme();
const root = document.getElementById("root");
if (!root) throw new Error("the page has no place for the console");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Routing />
    </QueryClientProvider>
  </StrictMode>,
);
