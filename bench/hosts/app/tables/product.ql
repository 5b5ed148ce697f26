create table product on select get from '{config.upstream}/products/{^id}'
