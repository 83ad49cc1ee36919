import { uploadOperations } from "./uploads.ts";
import { documentOperations } from "./documents.ts";

/** The operations of uploaded documents. */
export const documents = [...uploadOperations, ...documentOperations];
