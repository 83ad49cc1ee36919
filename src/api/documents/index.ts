import { uploadOperations, documentOperations } from "./documents.ts";

export const documents = [...uploadOperations, ...documentOperations];
