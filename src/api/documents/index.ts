import type { CreateOperations } from "../deps.ts";
import { createUploadOperations } from "./uploads.ts";
import { createDocumentOperations } from "./documents.ts";

/** The operations of uploaded documents. */
export const documents: CreateOperations = [createUploadOperations, createDocumentOperations];
