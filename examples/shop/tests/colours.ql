-- Files of tables and settings are those of the app; the mock stands for the details API.
return select title as title, colours as colours from shop.details where id in ('k1', 'k2')
