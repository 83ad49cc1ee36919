import { uploadOperations, documentOperations } from "./documents.ts";

/** The operations of uploaded documents. */
export const documents = [...uploadOperations, ...documentOperations];
