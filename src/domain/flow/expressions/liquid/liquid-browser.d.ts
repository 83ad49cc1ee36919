// The build for browsers is the one without Node's file system, which a workflow must not touch; its types are the same.
declare module "liquidjs/dist/liquid.browser.mjs" {
  export * from "liquidjs";
}
