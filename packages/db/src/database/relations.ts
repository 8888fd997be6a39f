/** A damaged table or index, as reported by PostgreSQL's extension amcheck; contains no row values. */
export interface RelationFault {
  /** With its schema. */
  relation: string;
  reason: string;
}

/** This server cannot check relations. The message says why. */
export class RelationCheckError extends Error {
  override readonly name = 'RelationCheckError';
}

/** A table, or a B-tree index. */
export interface Relation {
  oid: string;
  name: string;
  /** `heap` or `btree`. */
  method: string;
}

export const MAX_FAULTS_PER_RELATION = 10;

/**
 * All that amcheck can read, tables first. Includes catalogs and TOAST tables; temporary tables of other sessions cannot be
 * checked.
 */
export const LIST_RELATIONS = `
  SELECT c.oid::text AS oid, format('%I.%I', n.nspname, c.relname) AS name,
         CASE WHEN c.relkind = 'i' THEN a.amname ELSE 'heap' END AS method
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_am a ON a.oid = c.relam
  LEFT JOIN pg_index i ON i.indexrelid = c.oid
  WHERE c.relpersistence <> 't'
    AND (c.relkind IN ('r', 'm', 't') OR (c.relkind = 'i' AND a.amname = 'btree' AND i.indisvalid AND i.indisready))
  ORDER BY c.relkind = 'i', n.nspname, c.relname`;
