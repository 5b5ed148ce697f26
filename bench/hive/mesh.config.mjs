// Composes the upstream's JSON API into one GraphQL schema with Mesh. UPSTREAM is its origin.

import { defineConfig } from '@graphql-mesh/compose-cli';
import { loadJSONSchemaSubgraph } from '@omnigraph/json-schema';

const operation = (field, path, type, argument) => ({
  type: 'Query',
  field,
  method: 'GET',
  path,
  responseSchema: `./answers.json#/definitions/${type}`,
  argTypeMap: { [argument]: { type: 'string' } },
});

const byProduct = (field) => `@resolveTo(
  sourceName: "Sample"
  sourceTypeName: "Query"
  sourceFieldName: "${field}"
  requiredSelectionSet: "{ pid }"
  sourceArgs: { id: "{root.pid}" }
)`;

export const composeConfig = defineConfig({
  subgraphs: [
    {
      sourceHandler: loadJSONSchemaSubgraph('Sample', {
        endpoint: process.env.UPSTREAM,
        operations: [
          operation('search', '/search?q={args.q}', 'Search', 'q'),
          operation('large', '/large?q={args.q}', 'Search', 'q'),
          operation('find', '/find?keywords={args.keywords}', 'Find', 'keywords'),
          operation('items', '/items?ids={args.ids}', 'Items', 'ids'),
          operation('prods', '/prods?k={args.k}', 'Products', 'k'),
          operation('details', '/details?id={args.id}&kind=Ref', 'Detail', 'id'),
          operation('reviews', '/reviews?id={args.id}&kind=Ref', 'Review', 'id'),
        ],
      }),
    },
  ],
  // What a product is looked up by; the rows of a search are resolved in gateway.config.mjs.
  additionalTypeDefs: `
    extend type Product {
      details: Detail ${byProduct('details')}
      reviews: Review ${byProduct('reviews')}
    }
    extend type Find {
      rows: Items
    }
  `,
});
