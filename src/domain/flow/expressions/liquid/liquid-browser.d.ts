// The browser build is used because it lacks Node's file system, which a workflow must not access; its types are the same.
declare module "liquidjs/dist/liquid.browser.mjs" {
  export * from "liquidjs";
}
