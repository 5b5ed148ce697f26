// Hive Gateway on the composed schema, with nothing switched on that the scenarios do not need.

import { defineConfig } from '@graphql-hive/gateway';

export const gatewayConfig = defineConfig({
  logging: 'warn',
  graphiql: false,
  landingPage: false,
  healthCheckEndpoint: '/health',
  additionalResolvers: {
    Find: {
      // All ids of the first call make one second call; a directive can't join them.
      rows: {
        selectionSet: '{ searchResult { item { itemId } } }',
        resolve: (root, _args, context, info) =>
          context.Sample.Query.items({
            root,
            context,
            info,
            args: { ids: root.searchResult.item.map((item) => item.itemId[0]).join(',') },
          }),
      },
    },
  },
});
