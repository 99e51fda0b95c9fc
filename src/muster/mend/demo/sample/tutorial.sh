# A tour of ladle. Each block is shown by a test.

# What is in a recipe
ladle show recipes/pancakes.txt

# For more people, or for fewer
ladle scale recipes/pancakes.txt 8
ladle scale recipes/pancakes.txt 2

# A quarter is written 1/4, never as a decimal
ladle convert 4 tbsp cup

# ... and in metric units
ladle convert 2 cup ml

# What to buy for several recipes
ladle shop recipes/pancakes.txt recipes/bread.txt

# How long it takes
ladle time recipes/pancakes.txt

# What is not in the house yet
ladle missing recipes/pancakes.txt --have milk,salt
