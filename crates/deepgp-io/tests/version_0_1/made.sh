# How the command line of version 0.1 made the models and checkpoints here, in the folder /data/deepgp: their records name it.
# What ends by the clock or by a signal ends at another step each time.
small="--width 2 --hidden-layers 1 --device cpu"
batches="--mean-inducing 10 --covariance-inducing 6 $small --batch-size 12 --learning-rate 0.02 --schedule cosine"

deepgp fit plain.csv --target y --mean-inducing 12 --covariance-inducing 6 --width 2 --steps 60 --device cpu --out default.deepgp
deepgp fit plain.csv --target y --inducing 8 $small --kernel matern32 --mean-form standard --covariance-form standard \
  --steps 40 --seed 3 --noise 0.1 --out tied.deepgp
deepgp fit plain.csv --target y --mean-inducing 10 --covariance-inducing 5 $small --kernel matern52 --mean-form dual \
  --covariance-form dual --steps 40 --validation 0 --out dual.deepgp
deepgp fit plain.csv --target y --inducing 9 --hidden-layers 0 --device cpu --kernel rational-quadratic \
  --mean-form scaled-dual --covariance-form whitened --learning-rate 0.3 --steps 2000 --patience 1 --out patience.deepgp
deepgp fit plain.csv --target y --mean-inducing 12 --covariance-inducing 6 $small --precision mixed --schedule cosine \
  --batch-size 16 --samples 2 --steps 50 --out mixed.deepgp
deepgp fit plain.csv --target y --mean-inducing 10 --covariance-inducing 6 $small --learning-rate 1000 --steps 40 \
  --out rolled-back.deepgp
deepgp fit flats.csv --target rent --ignore number --categorical floor --missing mean --mean-inducing 12 \
  --covariance-inducing 6 --width 3 --hidden-layers 1 --device cpu --learning-rate 0.03 --steps 120 --test 0.25 --out flats.deepgp
deepgp fit pair.csv --target first,second --missing drop --mean-inducing 10 --covariance-inducing 6 $small \
  --kernel matern12 --steps 50 --test 0.2 --out pair.deepgp
deepgp fit array.npy --target c3 --mean-inducing 12 --covariance-inducing 6 $small --steps 30 --out array.deepgp
deepgp fit plain.csv --target y $batches --samples 2 --steps 150 --out whole.deepgp
deepgp fit plain.csv --target y $batches --samples 2 --steps 150 --time-limit 0.007s --out time.deepgp
deepgp fit plain.csv --target y $batches --samples 1000 --threads 1 --steps 400 --out interrupted.deepgp & sleep 0.2; kill -INT $!
